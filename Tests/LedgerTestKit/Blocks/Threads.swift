#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Runs `body` in a thread of its own.
package func inThread(_ body: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let code = pthread_create(
        &thread, nil,
        { argument in
            guard let argument else { return nil }
            Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body()
            return nil
        }, Unmanaged.passRetained(Box(body)).toOpaque())
    precondition(code == 0, "a thread cannot be made")
    pthread_detach(thread)
}

/// Runs in a thread of its own what blocks for long, or works for long: tests that wait for connections share the few
/// threads that tasks have.
package func apart<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        inThread { continuation.resume(with: Swift.Result(catching: body)) }
    }
}

func pauseAMillisecond() { usleep(1000) }

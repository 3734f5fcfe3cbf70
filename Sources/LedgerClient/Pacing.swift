/// The waits between attempts and the chance in them, so that tests need neither wait nor be lucky.
struct Pacing: Sendable {
    /// Waits so many milliseconds; throws where its task is cancelled.
    var sleep: @Sendable (_ milliseconds: Int64) async throws -> Void
    /// A number of milliseconds within 0 … `max`.
    var jitter: @Sendable (_ max: Int64) -> Int64

    static let system = Pacing(
        sleep: { try await Task.sleep(for: .milliseconds($0)) }, jitter: { Int64.random(in: 0...$0) })
}

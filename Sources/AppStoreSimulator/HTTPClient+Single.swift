internal import AsyncHTTPClient
internal import NIOCore

extension HTTPClient {
    /// Runs `body` with a client of HTTP that tries a connection once, and takes what is answered as it is.
    /// - Parameters:
    ///   - timeoutMilliseconds: of a connection, and of each wait for the answer.
    ///   - connectionsMax: at a time.
    static func withSingleAttempts<Result>(
        timeoutMilliseconds: Int64, connectionsMax: Int, isolation: isolated (any Actor)? = #isolation,
        _ body: (HTTPClient) async throws -> Result
    ) async throws -> Result {
        var settings = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(
                connect: .milliseconds(timeoutMilliseconds), read: .milliseconds(timeoutMilliseconds)),
            decompression: .disabled)
        settings.connectionPool.retryConnectionEstablishment = false
        settings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsMax
        let http = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: settings)
        let result: Result
        do {
            result = try await body(http)
        } catch {
            try? await http.shutdown()
            throw error
        }
        try await http.shutdown()
        return result
    }
}

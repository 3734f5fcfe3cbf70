internal import AppStoreServer
internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import StrictJSON

/// Posting notifications by Apple's schedule.
extension Simulator {
    /// Posts what is due, until its task is cancelled. What is cut off then is posted again after a restart.
    /// - Throws: ``SimulatorError`` where the file fails.
    func postNotifications() async throws {
        // The schedule says what is tried again.
        try await HTTPClient.withSingleAttempts(
            timeoutMilliseconds: SimulatorLimits.postMilliseconds, connectionsMax: SimulatorLimits.postsMax
        ) { try await postDue($0) }
    }

    private func postDue(_ http: HTTPClient) async throws {
        let (changes, change) = queueChanges
        try await withThrowingDiscardingTaskGroup { group in
            var alarm: Int64?
            for await _ in changes {
                while postCount < SimulatorLimits.postsMax, let post = queue.takeDue(SystemTime.now()) {
                    postCount += 1
                    group.addTask { try await self.carryOut(post, http) }
                }
                // One alarm for each time at which a first of the queue is due.
                guard let due = queue.nextDue, due != alarm else { continue }
                alarm = due
                group.addTask {
                    guard (try? await Task.sleep(for: .milliseconds(max(1, due - SystemTime.now())))) != nil else {
                        return
                    }
                    change.yield()
                }
            }
            group.cancelAll()
        }
    }

    private func carryOut(_ post: PostQueue.Post, _ http: HTTPClient) async throws {
        defer {
            postCount -= 1
            queueChanges.continuation.yield()
        }
        guard let webhook, let notification = state.notification(post.uuid) else { return }
        let date = SystemTime.now()
        let result: SendAttemptResult
        if notification.isLost {
            // Nobody gets it.
            if post.isCopy { return }
            result = .timedOut
        } else {
            let jws = try journal.read(notification.signedPayload)
            guard let end = await Simulator.send(jws, to: webhook, http) else { return }
            result = end
        }
        // The App Store does not know of the second of two, unless only that arrives.
        if post.isCopy && (result != .success || state.notification(post.uuid)?.hasArrived == true) { return }
        let attempt = SimulatedNotification.Attempt(attemptDate: date, result: result)
        try journal.append(SimulatedNotification.line(attempt, of: post.uuid))
        state.add(attempt, of: post.uuid)
        if !post.isCopy, let due = state.notification(post.uuid)?.nextPost(configuration) {
            queue.add(post.uuid, at: due)
        }
    }

    /// Posts a notification once.
    /// - Returns: how it went; `nil` where the task was cancelled.
    private static func send(_ jws: [UInt8], to webhook: String, _ http: HTTPClient) async -> SendAttemptResult? {
        var body = JSONWriter(capacity: jws.count + 32)
        body.beginObject()
        body.key("signedPayload")
        jws.withUnsafeBufferPointer { body.string(utf8: $0) }
        body.endObject()
        var request = HTTPClientRequest(url: webhook)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(bytes: body.bytes))
        do {
            let deadline = NIODeadline.now() + .milliseconds(SimulatorLimits.postMilliseconds)
            let response = try await http.execute(request, deadline: deadline)
            // What else stands there is for people; it is read so that the connection can go on.
            _ = try? await response.body.collect(upTo: SimulatorLimits.bodyBytesMax)
            // "Send HTTP 200, or any HTTP code between 200 and 206, if the post was successful."
            return (200...206).contains(response.status.code) ? .success : .unsuccessfulHTTPResponseCode
        } catch {
            return Task.isCancelled ? nil : result(of: error)
        }
    }

    private static func result(of error: any Error) -> SendAttemptResult {
        switch error {
        case let error as HTTPClientError: result(of: error)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: .tlsIssue
        case is NIOConnectionError, is IOError: .socketIssue
        case is HTTPParserError: .invalidResponse
        default: .other
        }
    }

    private static func result(of error: HTTPClientError) -> SendAttemptResult {
        switch error {
        case .connectTimeout, .deadlineExceeded, .readTimeout, .writeTimeout, .getConnectionFromPoolTimeout: .timedOut
        case .remoteConnectionClosed: .prematureClose
        case .tlsHandshakeTimeout: .tlsIssue
        default: .other
        }
    }
}

/// One request of a line, or what is wrong with it.
package struct Message: Hashable, Sendable {
    /// `nil`: a notification in JSON-RPC's sense, carried out and not answered, whatever becomes of it.
    package var id: RequestID?
    package var body: Result<Request, WireError>

    package init(id: RequestID?, body: Result<Request, WireError>) {
        self.id = id
        self.body = body
    }
}

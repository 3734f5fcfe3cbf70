/// When the replies of one connection are written, and when they are flushed: piece by piece, for a client that does
/// not read is owed the rest, and the event loop's time is not spent on that before.
struct ReplyWriting {
    enum Step {
        case write
        case flush
    }

    private var isFlushDue = false
    /// Whether more was there than was written since the last flush.
    private var isPieceWritten = false

    /// Whether something is written before anything else is flushed. In TLS all that is not flushed is taken, and
    /// leaves the channel writable: so that alone does not say it.
    func canWrite(_ isWritable: Bool) -> Bool { isWritable && !isPieceWritten }

    /// What is to be done now; `nil` where nothing is.
    mutating func next(hasReplies: Bool, isWritable: Bool) -> Step? {
        if hasReplies && canWrite(isWritable) {
            isFlushDue = true
            return .write
        }
        if !isFlushDue { return nil }
        (isFlushDue, isPieceWritten) = (false, false)
        return .flush
    }

    /// A piece was written.
    /// - Parameter hasMore: whether there was more than that.
    mutating func wrote(hasMore: Bool) { isPieceWritten = hasMore }
}

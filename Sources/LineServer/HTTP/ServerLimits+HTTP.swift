import NIOCore
import NIOHTTP1

extension ServerLimits {
    /// What reads HTTP. Nobody changes to another protocol, so nothing is kept for one.
    func makeHTTPDecoder() -> ByteToMessageHandler<HTTPRequestDecoder> {
        var heads = NIOHTTPDecoderLimitConfiguration()
        heads.maxHeaderFieldSize = headBytesMax
        heads.maxHeaderListSize = headBytesMax
        heads.maxHeaderFieldCount = headLinesMax
        return ByteToMessageHandler(
            HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: heads),
            maximumBufferSize: undecodedBytesMax)
    }
}

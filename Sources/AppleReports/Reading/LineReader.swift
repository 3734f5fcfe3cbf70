/// The lines of a report, one after the other, in memory one part at a time. One owner at a time.
final class LineReader {
    private let stream: ByteStream
    private let limits: ReportLimits
    private var inflation: Inflation?
    private var isStarted = false
    private var isAtEnd = false
    private var bytes = 0
    /// What is read and belongs to no line yet; the next line begins at `start`.
    private var buffer: [UInt8] = []
    private var start = 0
    private var number = 0

    init(_ input: ReportInput, limits: ReportLimits) throws(ReportFault) {
        self.limits = limits
        stream = try input.open()
    }

    /// The next line without its end, LF or CRLF, and its number from 1 on; `nil` at the end.
    func next() throws(ReportFault) -> (number: Int, text: String)? {
        var searched = start
        while true {
            if let feed = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = buffer[start..<feed]
                start = feed + 1
                return try text(line)
            }
            searched = buffer.count
            guard buffer.count - start <= limits.lineBytesMax else { throw tooLong }
            if isAtEnd {
                guard start < buffer.count else { return nil }
                let line = buffer[start...]
                start = buffer.count
                return try text(line)
            }
            searched -= start
            buffer.removeFirst(start)
            start = 0
            try fill()
        }
    }

    private var tooLong: ReportFault {
        ReportFault(.tooLarge, line: number + 1, "has more than \(limits.lineBytesMax) bytes")
    }

    private func text(_ line: ArraySlice<UInt8>) throws(ReportFault) -> (number: Int, text: String) {
        guard line.count <= limits.lineBytesMax else { throw tooLong }
        number += 1
        let isEndedByCR = line.last == UInt8(ascii: "\r")
        guard let text = String(validating: isEndedByCR ? line.dropLast() : line, as: UTF8.self) else {
            throw ReportFault(.format, line: number, "is not UTF-8")
        }
        // A byte order mark before the first line says nothing.
        guard number == 1, text.unicodeScalars.first == "\u{FEFF}" else { return (number, text) }
        return (number, String(text.unicodeScalars.dropFirst()))
    }

    /// Reads on.
    private func fill() throws(ReportFault) {
        var part = try stream.next()
        if !isStarted {
            // A pipe may give one byte first.
            while part.count == 1 {
                let more = try stream.next()
                if more.isEmpty { break }
                part += more
            }
            isStarted = true
            if part.starts(with: [0x1F, 0x8B]) { inflation = try Inflation(bytesMax: limits.inflatedBytesMax) }
        }
        if part.isEmpty {
            isAtEnd = true
            if let inflation, !inflation.isComplete {
                throw ReportFault(.archive, "what is compressed ends in its middle")
            }
            return
        }
        guard let inflation else {
            bytes += part.count
            guard bytes <= limits.inflatedBytesMax else {
                throw ReportFault(.tooLarge, "has more than \(limits.inflatedBytesMax) bytes")
            }
            buffer += part
            return
        }
        try inflation.inflate(part) { buffer += $0 }
    }
}

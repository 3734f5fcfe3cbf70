import GRDBSQLite

/// The write-ahead log, frame by frame.
extension PageChecks {
    static func readLog(
        _ file: File?, _ bytes: UnsafeMutableRawPointer?, _ count: Int32, _ offset: Int64
    ) -> Int32 {
        let connection = connection(file)
        let file = below(file)
        let code = file.pointee.pMethods.pointee.xRead(file, bytes, count, offset)
        guard let bytes, LogFrames.isPage(Int(count), at: offset) else { return code }
        // A page is read only where one was written; the file was cut off.
        if code == shortRead { return ioErrorData }
        guard code == SQLITE_OK else { return code }
        return withUnsafeTemporaryAllocation(byteCount: LogFrames.headerBytes * 3, alignment: 8) { headers in
            guard let start = headers.baseAddress else { return SQLITE_IOERR }
            for (place, from) in LogFrames.headers(ofPage: Int(count), at: offset).enumerated() {
                let code = file.pointee.pMethods.pointee.xRead(
                    file, start + place * LogFrames.headerBytes, Int32(LogFrames.headerBytes), from)
                if code != SQLITE_OK { return code == shortRead ? ioErrorData : code }
            }
            let page = UnsafeRawBufferPointer(start: bytes, count: Int(count))
            guard LogFrames.isWhole(page, UnsafeRawBufferPointer(headers)) else { return ioErrorData }
            guard let own = connection.newest?.frames,
                let frame = WriteAheadLog.frame(at: offset - Int64(LogFrames.headerBytes))
            else { return SQLITE_OK }
            let header = FrameHeader(UnsafeRawBufferPointer(rebasing: headers[LogFrames.headerBytes...]))
            guard let number = own.page(ofFrame: frame, header.sum, in: connection.snapshot) else { return ioErrorData }
            // SQLite does not say which page it reads: it is the one that the index says the frame has.
            let isWanted = connection.snapshot == nil || connection.index.page(ofFrame: frame) == number
            return isWanted ? SQLITE_OK : ioErrorData
        }
    }

    /// Notes what is written into the log: its own header, with which it begins anew, and of each frame the header and
    /// then, by itself, the page. It is begun anew only when all of it is in the tables' file, whatever the index says.
    static func writeLog(
        _ file: File?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: Int64
    ) -> Int32 {
        guard let newest = connection(file).newest, let bytes else {
            return below(file).pointee.pMethods.pointee.xWrite(below(file), bytes, count, offset)
        }
        if offset == 0 && !newest.haveAllFrames { return ioErrorData }
        let code = below(file).pointee.pMethods.pointee.xWrite(below(file), bytes, count, offset)
        guard code == SQLITE_OK else { return code }
        let content = UnsafeRawBufferPointer(start: bytes, count: Int(count))
        if offset == 0 {
            newest.frames.begin(salts: content.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
        } else if content.count == LogFrames.headerBytes, let frame = WriteAheadLog.frame(at: offset) {
            newest.frames.note(FrameHeader(content), ofFrame: frame)
        } else if LogFrames.isPage(content.count, at: offset),
            let frame = WriteAheadLog.frame(at: offset - Int64(LogFrames.headerBytes))
        {
            withUnsafeTemporaryAllocation(byteCount: content.count, alignment: 8) { page in
                page.copyMemory(from: content)
                newest.frames.note(pageOfFrame: frame) { sumInFile(of: page, page: $0) }
            }
        }
        return code
    }

    static func truncateLog(_ file: File?, _ size: Int64) -> Int32 {
        if let newest = connection(file).newest, !newest.haveAllFrames,
            size < WriteAheadLog.place(ofFrame: newest.frames.committed + 1)
        {
            return ioErrorData
        }
        return below(file).pointee.pMethods.pointee.xTruncate(below(file), size)
    }
}

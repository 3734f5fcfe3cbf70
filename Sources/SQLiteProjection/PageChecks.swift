import GRDBSQLite
import Synchronization

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Keeps a checksum in the last 8 bytes of every page of the tables' file, and compares it whenever a page is read
/// from the file: what a disk or other hands have changed is an error (`SQLITE_IOERR_DATA`) and is never believed.
///
/// SQLite reads and writes files through a VFS (https://sqlite.org/vfs.html). This one stands in front of the default
/// one, of which it keeps everything but the files of tables: the main ones it reads and writes with checksums, in
/// pages of which SQLite leaves the last bytes free (`SQLITE_FCNTL_RESERVE_BYTES`). Whoever has the tables for writing
/// compares each page with its newest checksum too (``PageSums``). The write-ahead log has checksums
/// of SQLite's own, which SQLite compares only when it begins to use one that it finds: here they are compared
/// whenever a page is read from it (``LogFrames``), and by whoever has the tables for writing, with those of the frames
/// that it wrote itself (``OwnFrames``). Where a page is in it SQLite
/// looks up in an index that other programs can change; what that says is compared too (``LogIndex``).
///
/// A connection that is told to (``keepLock(_:for:)``) never gives the lock for writing back: not between two
/// transactions, when another program would be quick enough to get it.
enum PageChecks {
    /// Bytes at the end of each page.
    static let bytes = 8

    /// What the pages of a main file are compared with.
    private enum Checks {
        /// Each with its own checksum.
        case own
        /// With that, and with the newest one, as who has the file for writing knows it.
        case newest(PageSums)

        var newest: PageSums? { if case .newest(let sums) = self { sums } else { nil } }
    }

    /// By the paths of main files, as SQLite spells them.
    private static let files = Mutex<[String: Checks]>([:])

    /// Says whether the file at `path` has checksums, for connections that are opened from now on.
    static func expectOwn(_ hasChecks: Bool, at path: String) {
        guard let path = fullPath(path) else { return }
        files.withLock { files in
            if !hasChecks { files[path] = nil } else if files[path] == nil { files[path] = .own }
        }
    }

    /// Has the pages of a file with checksums compared with the newest ones too, by connections that are opened from
    /// now on; `nil` ends that.
    static func expectNewest(_ sums: PageSums?, at path: String) {
        guard let path = fullPath(path) else { return }
        files.withLock { $0[path] = sums.map { .newest($0) } ?? .own }
    }

    /// Leaves room for the checksums in the pages of a database that is not made yet.
    static func reserve(in database: OpaquePointer?) {
        var count = Int32(bytes)
        _ = sqlite3_file_control(database, "main", SQLITE_FCNTL_RESERVE_BYTES, &count)
    }

    // MARK: The checksum

    /// Of all of the page but its last 8 bytes, and of its place: four sums side by side, for the machine to work at
    /// them at once. What one word changes in its sum no later word takes back, for each step can be undone.
    static func checksum(_ page: UnsafeRawBufferPointer, at offset: Int64) -> UInt64 {
        let seed = UInt64(bitPattern: offset)
        var (first, second, third, fourth) = (seed &+ 1, seed &+ 2, seed &+ 3, seed &+ 4)
        let end = page.count - bytes
        var place = 0
        while place + 32 <= end {
            first = step(first, page.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            second = step(second, page.loadUnaligned(fromByteOffset: place + 8, as: UInt64.self))
            third = step(third, page.loadUnaligned(fromByteOffset: place + 16, as: UInt64.self))
            fourth = step(fourth, page.loadUnaligned(fromByteOffset: place + 24, as: UInt64.self))
            place += 32
        }
        while place < end {
            first = step(first, page.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            place += 8
        }
        return step(step(step(first, second), third), fourth)
    }

    static func step(_ sum: UInt64, _ word: UInt64) -> UInt64 {
        let product = (sum ^ word) &* 0x9E37_79B9_7F4A_7C15
        return product ^ product >> 32
    }

    /// Whether it is a page, and not a part of one: SQLite reads the first bytes of the file before it knows the size
    /// of its pages.
    private static func isPage(_ count: Int32, _ offset: Int64) -> Bool {
        count >= 512 && count & (count - 1) == 0 && offset % Int64(count) == 0
    }

    /// The sum that a page from the write-ahead log has in the tables' file, as it stands there.
    /// - Parameters:
    ///   - content: becomes what the page is in the file.
    ///   - page: from 1.
    static func sumInFile(of content: UnsafeMutableRawBufferPointer, page: Int) -> UInt64 {
        let offset = Int64(page - 1) * Int64(content.count)
        clearUnused(content, at: offset)
        return checksum(UnsafeRawBufferPointer(content), at: offset).littleEndian
    }

    // MARK: What is left of deleted rows

    /// Fills what no row uses of a b-tree's page with zeros (https://sqlite.org/fileformat2.html#b_tree_pages). SQLite
    /// leaves copies there of rows that it moved to other pages, whatever `secure_delete` says, and a name that is
    /// erased later would stay in them. A page that is not such a page in every way is left as it is.
    static func clearUnused(_ page: UnsafeMutableRawBufferPointer, at offset: Int64) {
        // The file's own header is in its first page.
        let header = offset == 0 ? 100 : 0
        let end = page.count - bytes
        func number(_ place: Int) -> Int { Int(page[place]) << 8 | Int(page[place + 1]) }
        let pointers: Int
        switch page[header] {
        case 2, 5: pointers = header + 12
        case 10, 13: pointers = header + 8
        default: return
        }
        let pointersEnd = pointers + 2 * number(header + 3)
        let content = number(header + 5)
        guard pointersEnd <= content, content <= end else { return }
        for place in stride(from: pointers, to: pointersEnd, by: 2) {
            guard (content..<end).contains(number(place)) else { return }
        }
        // Blocks that were freed between rows: where the next one is, how large this one is, and what is left in it.
        var unused = [pointersEnd..<content]
        var free = number(header + 1)
        while free != 0 {
            guard free >= content, free + 4 <= end, number(free + 2) >= 4, free + number(free + 2) <= end,
                number(free) == 0 || number(free) > free
            else { return }
            unused.append(free + 4..<free + number(free + 2))
            free = number(free)
        }
        for range in unused {
            UnsafeMutableRawBufferPointer(rebasing: page[range]).initializeMemory(as: UInt8.self, repeating: 0)
        }
    }

    // MARK: The VFS

    typealias File = UnsafeMutablePointer<sqlite3_file>

    /// The default one of this process, which does the work. Set once, before ours is registered.
    private struct Layers: @unchecked Sendable {
        let below: UnsafeMutablePointer<sqlite3_vfs>
        /// Of main files, and of their write-ahead logs.
        let methods: UnsafePointer<sqlite3_io_methods>
        let logMethods: UnsafePointer<sqlite3_io_methods>
        /// Whether SQLite counts the memory that it uses: it was in use before.
        let isMemoryCounted: Bool
    }

    /// `nil` where SQLite has no VFS at all.
    private static let layers: Layers? = {
        // From here on SQLite is in use.
        let isMemoryCounted = !SQLiteLibrary.stopCountingMemory()
        guard let below = sqlite3_vfs_find(nil) else { return nil }
        let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        // Everything of the one below, also what it keeps in `pAppData`, but a name and a way of opening files.
        own.initialize(to: below.pointee)
        own.pointee.pNext = nil
        own.pointee.zName = UnsafePointer(strdup("ledger-pages"))
        own.pointee.szOsFile += Int32(headBytes)
        own.pointee.xOpen = { _, name, file, flags, outFlags in
            PageChecks.open(name, file, flags, outFlags)
        }
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.initialize(to: checkedMethods())
        let logMethods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        logMethods.initialize(to: checkedMethods())
        logMethods.pointee.xRead = { PageChecks.readLog($0, $1, $2, $3) }
        logMethods.pointee.xTruncate = { PageChecks.truncateLog($0, $1) }
        logMethods.pointee.xSync = {
            PageChecks.below($0).pointee.pMethods.pointee.xSync(PageChecks.below($0), $1)
        }
        logMethods.pointee.xWrite = { PageChecks.writeLog($0, $1, $2, $3) }
        let layers = Layers(
            below: below, methods: UnsafePointer(methods), logMethods: UnsafePointer(logMethods),
            isMemoryCounted: isMemoryCounted)
        return sqlite3_vfs_register(own, 1) == SQLITE_OK ? layers : nil
    }()

    /// Whether every connection waits for the others whenever it takes memory: SQLite was in use before any tables were
    /// opened, and counts what it uses.
    static var isMemoryCounted: Bool { layers?.isMemoryCounted ?? false }

    /// What stands in front of the file of the VFS below: a pointer to the methods, and one to its connection.
    private static let headBytes = 16

    /// What is known of a connection to tables with checksums, by its main file and its write-ahead log. Used by one
    /// thread at a time.
    final class Connection {
        /// Where it is of a program that has the tables for writing.
        let newest: PageSums?
        var lock = Lock.passed
        /// Whether SQLite has the lock for writing.
        var isWriting = false
        var index = LogIndex()
        /// What its read transaction sees; `nil` while it has none.
        var snapshot: OwnFrames.Snapshot?

        init(_ newest: PageSums?) { self.newest = newest }
    }

    private static func place(_ file: File?) -> UnsafeMutablePointer<Unmanaged<Connection>> {
        guard let file else { preconditionFailure("SQLite calls a file's method without a file") }
        return (UnsafeMutableRawPointer(file) + 8).assumingMemoryBound(to: Unmanaged<Connection>.self)
    }

    static func connection(_ file: File?) -> Connection { place(file).pointee.takeUnretainedValue() }

    static func below(_ file: File?) -> File {
        guard let file else { preconditionFailure("SQLite calls a file's method without a file") }
        return (UnsafeMutableRawPointer(file) + headBytes).assumingMemoryBound(to: sqlite3_file.self)
    }

    private static func fullPath(_ path: String) -> String? {
        guard let vfs = layers?.below else { return nil }
        let count = vfs.pointee.mxPathname + 1
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(count)) { memory in
            guard vfs.pointee.xFullPathname(vfs, path, count, memory.baseAddress) & 0xFF == SQLITE_OK else {
                return nil
            }
            return memory.baseAddress.map { String(cString: $0) }
        }
    }

    private static func open(
        _ name: UnsafePointer<CChar>?, _ file: File?, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let layers, let file else { return SQLITE_CANTOPEN }
        let vfs = layers.below
        var methods: UnsafePointer<sqlite3_io_methods>?
        var connection: Connection?
        if let name {
            let path = String(cString: name)
            if flags & SQLITE_OPEN_MAIN_DB != 0, let checks = files.withLock({ $0[path] }) {
                methods = layers.methods
                connection = Connection(checks.newest)
            }
            if flags & SQLITE_OPEN_WAL != 0, let main = sqlite3_database_file_object(name),
                main.pointee.pMethods == layers.methods
            {
                methods = layers.logMethods
                connection = PageChecks.connection(main)
            }
        }
        guard let methods, let connection else { return vfs.pointee.xOpen(vfs, name, file, flags, outFlags) }
        below(file).pointee.pMethods = nil
        let code = vfs.pointee.xOpen(vfs, name, below(file), flags, outFlags)
        // SQLite closes a file that has methods, also where it could not be opened.
        file.pointee.pMethods = below(file).pointee.pMethods == nil ? nil : methods
        if file.pointee.pMethods != nil { place(file).initialize(to: Unmanaged.passRetained(connection)) }
        return code
    }

    private static func checkedMethods() -> sqlite3_io_methods {
        sqlite3_io_methods(
            iVersion: 3,
            xClose: {
                PageChecks.place($0).pointee.release()
                return PageChecks.below($0).pointee.pMethods.pointee.xClose(PageChecks.below($0))
            },
            xRead: { PageChecks.read($0, $1, $2, $3) },
            xWrite: { PageChecks.write($0, $1, $2, $3) },
            xTruncate: { PageChecks.truncate($0, $1) },
            xSync: { PageChecks.sync($0, $1) },
            xFileSize: { PageChecks.below($0).pointee.pMethods.pointee.xFileSize(PageChecks.below($0), $1) },
            xLock: { PageChecks.below($0).pointee.pMethods.pointee.xLock(PageChecks.below($0), $1) },
            xUnlock: { PageChecks.below($0).pointee.pMethods.pointee.xUnlock(PageChecks.below($0), $1) },
            xCheckReservedLock: {
                PageChecks.below($0).pointee.pMethods.pointee.xCheckReservedLock(PageChecks.below($0), $1)
            },
            xFileControl: { PageChecks.control($0, $1, $2) },
            xSectorSize: { PageChecks.below($0).pointee.pMethods.pointee.xSectorSize(PageChecks.below($0)) },
            xDeviceCharacteristics: {
                // Parts of pages (SQLITE_IOCAP_SUBPAGE_READ) would be read past the checksums.
                PageChecks.below($0).pointee.pMethods.pointee.xDeviceCharacteristics(PageChecks.below($0)) & ~0x8000
            },
            xShmMap: { PageChecks.mapIndex($0, $1, $2, $3, $4) },
            xShmLock: { PageChecks.lock($0, $1, $2, $3) },
            xShmBarrier: { PageChecks.passBarrier($0) },
            xShmUnmap: {
                PageChecks.giveBack($0)
                PageChecks.connection($0).index = LogIndex()
                return PageChecks.below($0).pointee.pMethods.pointee.xShmUnmap(PageChecks.below($0), $1)
            },
            xFetch: { _, _, _, place in
                // Mapped memory would be read past the checksums.
                place?.pointee = nil
                return SQLITE_OK
            },
            xUnfetch: { _, _, _ in SQLITE_OK })
    }

    private static func read(_ file: File?, _ bytes: UnsafeMutableRawPointer?, _ count: Int32, _ offset: Int64) -> Int32
    {
        let connection = connection(file)
        let file = below(file)
        let code = file.pointee.pMethods.pointee.xRead(file, bytes, count, offset)
        guard isPage(count, offset), let bytes else { return code }
        let number = Int(offset / Int64(count))
        // Of a page that is in the write-ahead log too.
        let copy = connection.snapshot.flatMap { connection.newest?.frames.copy(ofPage: number + 1, in: $0) }
        // SQLite takes what is behind the end of the file for zeros.
        if code == shortRead, copy != nil || connection.newest?.isKnown(page: number) ?? false { return ioErrorData }
        guard code == SQLITE_OK else { return code }
        let page = UnsafeRawBufferPointer(start: bytes, count: Int(count))
        let kept = page.loadUnaligned(fromByteOffset: page.count - PageChecks.bytes, as: UInt64.self)
        guard UInt64(littleEndian: kept) == checksum(page, at: offset) else { return ioErrorData }
        if let copy, copy != kept { return ioErrorData }
        return connection.newest?.isNewest(kept, ofPage: number) ?? true ? SQLITE_OK : ioErrorData
    }

    private static func write(_ file: File?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: Int64) -> Int32 {
        let newest = connection(file).newest
        let file = below(file)
        if isPage(count, offset), let bytes {
            let page = UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(mutating: bytes), count: Int(count))
            let number = Int(offset / Int64(count))
            let sum = sumInFile(of: page, page: number + 1)
            // Which frame is copied into which page the index says.
            if let newest, !newest.frames.isCopy(sum, ofPage: number + 1) { return ioErrorData }
            // In SQLite's own page, where these bytes and the unused ones are nobody's: as its own checksum VFS does.
            page.storeBytes(of: sum, toByteOffset: page.count - PageChecks.bytes, as: UInt64.self)
            newest?.note(sum, ofPage: number)
        }
        return file.pointee.pMethods.pointee.xWrite(file, bytes, count, offset)
    }

    private static func truncate(_ file: File?, _ size: Int64) -> Int32 {
        let newest = connection(file).newest
        // The index says how many pages there are.
        if let newest, size < Int64(newest.frames.pages * WriteAheadLog.pageBytes) { return ioErrorData }
        let code = below(file).pointee.pMethods.pointee.xTruncate(below(file), size)
        if code == SQLITE_OK { newest?.truncate(to: size) }
        return code
    }

    /// What is synced is a checkpoint's whole work, and the write-ahead log is begun anew after it.
    private static func sync(_ file: File?, _ flags: Int32) -> Int32 {
        let code = below(file).pointee.pMethods.pointee.xSync(below(file), flags)
        guard code == SQLITE_OK, let newest = connection(file).newest else { return code }
        return newest.save() ? SQLITE_OK : ioErrorSync
    }

    /// `SQLITE_IOERR_DATA`, a macro that Swift does not see.
    static let ioErrorData = SQLITE_IOERR | 32 << 8

    /// `SQLITE_IOERR_SHORT_READ` and `SQLITE_IOERR_FSYNC` are macros too.
    static let shortRead = SQLITE_IOERR | 2 << 8
    private static let ioErrorSync = SQLITE_IOERR | 4 << 8
}

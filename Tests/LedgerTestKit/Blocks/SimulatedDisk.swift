package import FileLog
import Synchronization

#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#endif

/// A disk in memory, on which every call can fail, the process can be killed and the power can be cut.
///
/// It promises no more than POSIX does. What was written and not synced is lost, kept or torn in any subset of its
/// sectors of 512 bytes; names that were made, changed or removed without a sync of their directory are lost or kept,
/// each by itself. A sync that fails leaves the page cache clean: what it did not write is shown until the power is
/// cut, and is not written by the next sync.
package final class SimulatedDisk: Disk, @unchecked Sendable {
    package static let sectorBytes = 512

    /// A call that can fail.
    package struct Call: Hashable, Sendable {
        package enum Kind: Hashable, Sendable {
            case open, read, status, list, lock
            case create, write, sync, rename, exchange, remove, makeDirectory, removeDirectory, syncDirectory
        }

        package let kind: Kind
        package let path: String
        /// The number of the call among those that change something; of the others, the number of the next such call.
        package let index: Int

        package var isChange: Bool {
            switch kind {
            case .open, .read, .status, .list, .lock: false
            case .create, .write, .sync, .rename, .exchange, .remove, .makeDirectory, .removeDirectory, .syncDirectory:
                true
            }
        }
    }

    package enum Fault: Hashable, Sendable {
        /// Nothing is done.
        case failure(DiskError)
        /// Some bytes of a write, some sectors of a sync; then the failure. Anything else is not done.
        case partThenFailure(DiskError)
        /// All of it is done, and the failure comes after it.
        case doneThenFailure(DiskError)
        /// A write that says that it wrote fewer bytes.
        case short
        /// A sync that says that it is done, and has not begun.
        case lie
        /// From here on nothing is done and every call fails, until the power is cut or the process is killed.
        case off
    }

    private final class Node {
        let inode: UInt64
        let isDirectory: Bool
        var links = 1
        // A file's bytes, as the page cache and as the disk has them.
        var cached: [UInt8] = []
        var durable: [UInt8] = []
        /// Sectors that the next sync writes.
        var dirty: Set<Int> = []
        var lockedBy: Int32?
        // A directory's entries.
        var entries: [String: Node] = [:]
        var durableEntries: [String: Node] = [:]
        var pending: [Change] = []

        init(_ inode: UInt64, isDirectory: Bool) {
            self.inode = inode
            self.isDirectory = isDirectory
        }
    }

    private enum Change {
        case link(String, Node)
        case unlink(String, Node)
        case rename(String, String, Node)
        case exchange(String, Node, String, Node)
    }

    // All of it is used under the lock.
    private let mutex = Mutex(())
    private let root = Node(1, isDirectory: true)
    private var nodes = 1
    private var files: [Int32: (node: Node, path: String)] = [:]
    private var descriptors: Int32 = 2
    private var changes = 0
    private var isOff = false
    private var random: SplitMix64
    private var fault: (Call) -> Fault? = { _ in nil }
    private var capacity = Int.max
    private var unreadable: (path: String, bytes: Range<Int>)?
    private var claimed: (path: String, byteCount: Int)?

    /// A disk that has the directory `/ledger`.
    package init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        let node = Node(2, isDirectory: true)
        nodes = 2
        root.entries["ledger"] = node
        root.durableEntries["ledger"] = node
    }

    // MARK: - What a test does to it

    /// `fault` is asked at each call, under the disk's lock.
    package func setFault(_ fault: @escaping (Call) -> Fault?) { mutex.withLock { _ in self.fault = fault } }

    package func clearFault() { setFault { _ in nil } }

    /// How many calls changed something, or tried to.
    package var changeCount: Int { mutex.withLock { _ in changes } }

    /// How many bytes all files together may have.
    package func setCapacity(_ bytes: Int) { mutex.withLock { _ in capacity = bytes } }

    /// Reading these bytes of a file fails; of a read that begins before them, those before are given.
    package func setUnreadable(_ path: String, _ bytes: Range<Int>) {
        mutex.withLock { _ in unreadable = (path, bytes) }
    }

    /// Says that a file has so many bytes, more than fit into memory. Reading ends where its bytes do.
    package func setByteCount(_ path: String, _ byteCount: Int) {
        mutex.withLock { _ in claimed = (path, byteCount) }
    }

    package var usedBytes: Int { mutex.withLock { _ in used(root) } }

    /// The process ends; the page cache stays.
    package func kill() {
        mutex.withLock { _ in
            visit(root) { $0.lockedBy = nil }
            files = [:]
            isOff = false
            fault = { _ in nil }
        }
    }

    /// The machine ends; what is left is what was synced, and any part of what was not.
    package func cutPower() {
        kill()
        mutex.withLock { _ in
            visit(root) { node in
                for change in node.pending where random.chance(50) { apply(change, to: &node.durableEntries) }
                node.pending = []
                node.entries = node.durableEntries
                writeSome(node)
                node.cached = node.durable
                node.dirty = []
            }
        }
    }

    /// The bytes of a file as a process sees them.
    package func bytes(_ path: String) throws(DiskError) -> [UInt8] {
        try locked { () throws(DiskError) in try node(path).cached }
    }

    /// Puts other bytes in a file, durably.
    package func setBytes(_ path: String, _ bytes: [UInt8]) throws(DiskError) {
        try locked { () throws(DiskError) in
            let node = try node(path)
            (node.cached, node.durable, node.dirty) = (bytes, bytes, [])
        }
    }

    // MARK: - The calls

    package func open(_ path: String, _ access: DiskAccess) throws(DiskError) -> DiskFile {
        try locked { () throws(DiskError) in
            let (parent, name) = try parent(path)
            if let node = parent.entries[name] {
                try ask(.open, path)
                if access == .creating { throw .exists }
                if node.isDirectory, access != .reading { throw .isDirectory }
                return opened(node, path)
            }
            guard access == .creating || access == .writingOrCreating else { throw .missing }
            return try changing(.create, path) {
                let node = made(isDirectory: false)
                parent.entries[name] = node
                parent.pending.append(.link(name, node))
                return opened(node, path)
            }
        }
    }

    package func close(_ file: DiskFile) {
        mutex.withLock { _ in
            if let node = files[file.descriptor]?.node, node.lockedBy == file.descriptor { node.lockedBy = nil }
            files[file.descriptor] = nil
        }
    }

    package func read(
        _ file: DiskFile, _ target: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(DiskError) -> Int {
        try locked { () throws(DiskError) in
            let (node, path) = try open(file)
            try ask(.read, path)
            guard offset < node.cached.count else { return 0 }
            var count = min(target.count, node.cached.count - offset)
            if let unreadable, unreadable.path == path, unreadable.bytes.overlaps(offset..<offset + count) {
                count = unreadable.bytes.lowerBound - offset
                guard count > 0 else { throw .failed }
            }
            target.copyBytes(from: node.cached[offset..<(offset + count)])
            return count
        }
    }

    package func write(
        _ file: DiskFile, _ parts: UnsafeBufferPointer<iovec>, at offset: Int
    ) throws(DiskError) -> Int {
        var bytes: [UInt8] = []
        for part in parts { bytes += UnsafeRawBufferPointer(start: part.iov_base, count: part.iov_len) }
        return try locked { () throws(DiskError) in
            let (node, path) = try open(file)
            switch next(.write, path) {
            case nil, .lie: return try put(bytes, node, offset)
            case .failure(let error): throw error
            case .partThenFailure(let error):
                _ = try put(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))), node, offset)
                throw error
            case .doneThenFailure(let error):
                _ = try put(bytes, node, offset)
                throw error
            case .short:
                return try put(Array(bytes.prefix(Int.random(in: 0..<bytes.count, using: &random))), node, offset)
            case .off: throw .failed
            }
        }
    }

    package func sync(_ file: DiskFile) throws(DiskError) {
        try locked { () throws(DiskError) in
            let (node, path) = try open(file)
            switch next(.sync, path) {
            case nil: writeAll(node)
            case .lie: return
            case .failure(let error):
                node.dirty = []
                throw error
            case .partThenFailure(let error):
                writeSome(node)
                node.dirty = []
                throw error
            case .doneThenFailure(let error):
                writeAll(node)
                throw error
            case .short, .off: throw .failed
            }
        }
    }

    package func status(_ file: DiskFile) throws(DiskError) -> FileStatus {
        try locked { () throws(DiskError) in
            let (node, path) = try open(file)
            try ask(.status, path)
            return status(node, path)
        }
    }

    package func status(at path: String) throws(DiskError) -> FileStatus {
        try locked { () throws(DiskError) in
            try ask(.status, path)
            return status(try node(path), path)
        }
    }

    package func lock(_ file: DiskFile) throws(DiskError) -> Bool {
        try locked { () throws(DiskError) in
            let (node, path) = try open(file)
            try ask(.lock, path)
            guard node.lockedBy == nil || node.lockedBy == file.descriptor else { return false }
            node.lockedBy = file.descriptor
            return true
        }
    }

    package func unlock(_ file: DiskFile) {
        mutex.withLock { _ in
            if let node = files[file.descriptor]?.node, node.lockedBy == file.descriptor { node.lockedBy = nil }
        }
    }

    package func isLocked(_ file: DiskFile) throws(DiskError) -> Bool {
        try locked { () throws(DiskError) in
            let owner = try open(file).node.lockedBy
            return owner != nil && owner != file.descriptor
        }
    }

    package func rename(_ path: String, to newPath: String) throws(DiskError) {
        try locked { () throws(DiskError) in
            let (parent, name) = try parent(path)
            let (newParent, newName) = try self.parent(newPath)
            precondition(parent === newParent, "the disk of the tests renames within one directory")
            guard let node = parent.entries[name] else { throw .missing }
            if let old = parent.entries[newName], old.isDirectory, !old.entries.isEmpty { throw .notEmpty }
            try changing(.rename, path) {
                parent.entries[newName]?.links -= 1
                parent.entries[newName] = node
                parent.entries[name] = nil
                parent.pending.append(.rename(name, newName, node))
            }
        }
    }

    package func forgetPages(_ file: DiskFile) {}

    package func exchange(_ path: String, with other: String) throws(DiskError) {
        try locked { () throws(DiskError) in
            let (parent, name) = try parent(path)
            let (otherParent, otherName) = try self.parent(other)
            precondition(parent === otherParent, "the disk of the tests exchanges within one directory")
            guard let node = parent.entries[name], let otherNode = parent.entries[otherName] else { throw .missing }
            try changing(.exchange, path) {
                parent.entries[name] = otherNode
                parent.entries[otherName] = node
                parent.pending.append(.exchange(name, otherNode, otherName, node))
            }
        }
    }

    package func remove(_ path: String) throws(DiskError) {
        try locked { () throws(DiskError) in
            let (parent, name) = try parent(path)
            guard let node = parent.entries[name] else { throw .missing }
            if node.isDirectory { throw .isDirectory }
            try changing(.remove, path) { unlink(parent, name) }
        }
    }

    package func makeDirectory(_ path: String) throws(DiskError) {
        try locked { () throws(DiskError) in
            let (parent, name) = try parent(path)
            guard parent.entries[name] == nil else { throw .exists }
            try changing(.makeDirectory, path) {
                let node = made(isDirectory: true)
                parent.entries[name] = node
                parent.pending.append(.link(name, node))
            }
        }
    }

    package func removeDirectory(_ path: String) throws(DiskError) {
        try locked { () throws(DiskError) in
            let (parent, name) = try parent(path)
            guard let node = parent.entries[name] else { throw .missing }
            guard node.isDirectory else { throw .isNoDirectory }
            guard node.entries.isEmpty else { throw .notEmpty }
            try changing(.removeDirectory, path) { unlink(parent, name) }
        }
    }

    package func list(_ path: String) throws(DiskError) -> [String] {
        try locked { () throws(DiskError) in
            try ask(.list, path)
            let node = try node(path)
            guard node.isDirectory else { throw .isNoDirectory }
            return node.entries.keys.sorted()
        }
    }

    package func syncDirectory(_ path: String) throws(DiskError) {
        try locked { () throws(DiskError) in
            let node = try node(path)
            try changing(.syncDirectory, path) {
                for change in node.pending { apply(change, to: &node.durableEntries) }
                node.pending = []
            }
        }
    }

    // MARK: - Under the lock

    private func locked<Result>(_ body: () throws(DiskError) -> Result) throws(DiskError) -> Result {
        try mutex.withLock { (_) throws(DiskError) in
            if isOff { throw .failed }
            return try body()
        }
    }

    private func next(_ kind: Call.Kind, _ path: String) -> Fault? {
        let call = Call(kind: kind, path: path, index: changes)
        if call.isChange { changes += 1 }
        let fault = fault(call)
        if fault == .off { isOff = true }
        return fault
    }

    /// A call that changes nothing.
    private func ask(_ kind: Call.Kind, _ path: String) throws(DiskError) {
        switch next(kind, path) {
        case nil, .short, .lie: return
        case .failure(let error), .partThenFailure(let error), .doneThenFailure(let error): throw error
        case .off: throw .failed
        }
    }

    private func changing<Result>(
        _ kind: Call.Kind, _ path: String, _ body: () -> Result
    ) throws(DiskError) -> Result {
        switch next(kind, path) {
        case nil, .lie: return body()
        case .failure(let error), .partThenFailure(let error): throw error
        case .doneThenFailure(let error):
            _ = body()
            throw error
        case .short, .off: throw .failed
        }
    }

    private func parent(_ path: String) throws(DiskError) -> (Node, name: String) {
        let names = path.split(separator: "/").map(String.init)
        precondition(path.hasPrefix("/") && !names.isEmpty, "the disk of the tests has absolute paths")
        var node = root
        for name in names.dropLast() {
            guard let next = node.entries[name] else { throw .missing }
            guard next.isDirectory else { throw .isNoDirectory }
            node = next
        }
        return (node, names[names.count - 1])
    }

    private func node(_ path: String) throws(DiskError) -> Node {
        if path == "/" { return root }
        let (parent, name) = try parent(path)
        guard let node = parent.entries[name] else { throw .missing }
        return node
    }

    private func open(_ file: DiskFile) throws(DiskError) -> (node: Node, path: String) {
        guard let open = files[file.descriptor] else { throw DiskError(code: EBADF) }
        return open
    }

    private func made(isDirectory: Bool) -> Node {
        nodes += 1
        return Node(UInt64(nodes), isDirectory: isDirectory)
    }

    private func opened(_ node: Node, _ path: String) -> DiskFile {
        descriptors += 1
        files[descriptors] = (node, path)
        return DiskFile(descriptor: descriptors)
    }

    private func unlink(_ parent: Node, _ name: String) {
        guard let node = parent.entries.removeValue(forKey: name) else { return }
        node.links -= 1
        parent.pending.append(.unlink(name, node))
    }

    private func apply(_ change: Change, to entries: inout [String: Node]) {
        switch change {
        case .link(let name, let node): entries[name] = node
        case .unlink(let name, let node):
            if entries[name] === node { entries[name] = nil }
        case .rename(let name, let newName, let node):
            if entries[name] === node { entries[name] = nil }
            entries[newName] = node
        case .exchange(let name, let node, let otherName, let otherNode):
            entries[name] = node
            entries[otherName] = otherNode
        }
    }

    private func status(_ node: Node, _ path: String) -> FileStatus {
        FileStatus(
            kind: node.isDirectory ? .directory : .file, device: 1, inode: node.inode, links: node.links,
            byteCount: claimed?.path == path ? claimed?.byteCount ?? 0 : node.cached.count)
    }

    /// Each node that has a name, or had one on the disk; in the order in which they were made, so that a seed always
    /// gives the same disk.
    private func visit(_ node: Node, _ body: (Node) -> Void) {
        var below: [UInt64: Node] = [:]
        for node in node.entries.values { below[node.inode] = node }
        for node in node.durableEntries.values { below[node.inode] = node }
        body(node)
        for (_, node) in below.sorted(by: { $0.key < $1.key }) { visit(node, body) }
    }

    private func used(_ node: Node) -> Int {
        node.isDirectory ? node.entries.values.reduce(0) { $0 + used($1) } : node.cached.count
    }

    private func put(_ bytes: [UInt8], _ node: Node, _ offset: Int) throws(DiskError) -> Int {
        guard !bytes.isEmpty else { return 0 }
        let room = max(0, capacity - used(root)) + max(0, node.cached.count - offset)
        let count = min(bytes.count, room)
        guard count > 0 else { throw .full }
        let end = offset + count
        if node.cached.count < end { node.cached += [UInt8](repeating: 0, count: end - node.cached.count) }
        node.cached.replaceSubrange(offset..<end, with: bytes[..<count])
        for sector in (offset / SimulatedDisk.sectorBytes)...((end - 1) / SimulatedDisk.sectorBytes) {
            node.dirty.insert(sector)
        }
        return count
    }

    private func range(_ sector: Int, _ count: Int) -> Range<Int> {
        let start = sector * SimulatedDisk.sectorBytes
        return min(start, count)..<min(start + SimulatedDisk.sectorBytes, count)
    }

    private func resize(_ node: Node, to count: Int) {
        if node.durable.count > count { node.durable.removeLast(node.durable.count - count) }
        node.durable += [UInt8](repeating: 0, count: count - node.durable.count)
    }

    private func writeAll(_ node: Node) {
        resize(node, to: node.cached.count)
        for sector in node.dirty { write(sector, node) }
        node.dirty = []
    }

    private func write(_ sector: Int, _ node: Node) {
        let range = range(sector, min(node.cached.count, node.durable.count))
        node.durable.replaceSubrange(range, with: node.cached[range])
    }

    /// Writes any subset of the dirty sectors, and any size between the old and the new one.
    private func writeSome(_ node: Node) {
        if node.durable.count < node.cached.count {
            resize(node, to: Int.random(in: node.durable.count...node.cached.count, using: &random))
        }
        let percent = [0, 10, 50, 90, 100].randomElement(using: &random) ?? 50
        for sector in node.dirty.sorted() where random.chance(percent) { write(sector, node) }
    }
}

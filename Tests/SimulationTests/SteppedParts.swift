import FileLog
import Glibc
import Ledger
import LedgerEngine
import LedgerTestKit
import SQLiteProjection

/// A disk that takes its time: other threads run between a call and its effect, and between that and its return.
final class SteppedDisk: Disk, @unchecked Sendable {
    let base: SimulatedDisk
    private let machine: SimulatedThreads
    /// False while somebody holds a lock of the log's that is not the machine's.
    var isStepped = true

    init(_ base: SimulatedDisk, _ machine: SimulatedThreads) { (self.base, self.machine) = (base, machine) }

    private func step(microseconds: UInt64 = 0) {
        if !isStepped { return }
        if microseconds == 0 { machine.pass() } else { machine.sleep(microseconds: microseconds) }
    }

    func open(_ path: String, _ access: DiskAccess) throws(DiskError) -> DiskFile { try base.open(path, access) }
    func close(_ file: DiskFile) { base.close(file) }
    func read(
        _ file: DiskFile, _ target: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(DiskError) -> Int { try base.read(file, target, at: offset) }
    func write(_ file: DiskFile, _ parts: UnsafeBufferPointer<iovec>, at offset: Int) throws(DiskError) -> Int {
        step()
        return try base.write(file, parts, at: offset)
    }
    func sync(_ file: DiskFile) throws(DiskError) {
        step(microseconds: 120)
        defer { step() }
        try base.sync(file)
    }
    func status(_ file: DiskFile) throws(DiskError) -> FileStatus { try base.status(file) }
    func status(at path: String) throws(DiskError) -> FileStatus { try base.status(at: path) }
    func lock(_ file: DiskFile) throws(DiskError) -> Bool { try base.lock(file) }
    func unlock(_ file: DiskFile) { base.unlock(file) }
    func isLocked(_ file: DiskFile) throws(DiskError) -> Bool { try base.isLocked(file) }
    func forgetPages(_ file: DiskFile) { base.forgetPages(file) }
    func exchange(_ path: String, with other: String) throws(DiskError) {
        step()
        try base.exchange(path, with: other)
    }
    func rename(_ path: String, to newPath: String) throws(DiskError) {
        step()
        try base.rename(path, to: newPath)
    }
    func remove(_ path: String) throws(DiskError) { try base.remove(path) }
    func makeDirectory(_ path: String) throws(DiskError) { try base.makeDirectory(path) }
    func removeDirectory(_ path: String) throws(DiskError) { try base.removeDirectory(path) }
    func list(_ path: String) throws(DiskError) -> [String] { try base.list(path) }
    func syncDirectory(_ path: String) throws(DiskError) {
        step()
        try base.syncDirectory(path)
    }
}

/// The log of files, whose redactions take one step: a reader may wait for them with a lock of the system's.
final class SteppedLog: BlockLog {
    private let base: FileLog
    private let disk: SteppedDisk

    init(_ base: FileLog, _ disk: SteppedDisk) { (self.base, self.disk) = (base, disk) }

    var engine: String { base.engine }
    var head: LogHead? { base.head }
    func settle() throws(LogError) { try base.settle() }
    func append(_ block: SealedBlock) throws(LogError) { try base.append(block) }
    func read(after number: BlockNumber, bytesMax: Int) throws(LogError) -> [SealedBlock] {
        try base.read(after: number, bytesMax: bytesMax)
    }
    func redact(_ number: BlockNumber, _ redactable: [UInt8]) throws(LogError) {
        disk.isStepped = false
        defer { disk.isStepped = true }
        try base.redact(number, redactable)
    }
    func checkRedactable(_ number: BlockNumber) throws(LogError) { try base.checkRedactable(number) }
    func close() { base.close() }
}

/// Whether the process has died of which the tables' users are: nothing that they do has an effect any more. And
/// whether the tables' disk fails.
final class TablePower: @unchecked Sendable {
    var isOff = false
    var failures = 0
}

/// The tables, with other threads' steps before and behind each use.
final class SteppedProjection: Projection {
    private let base: SQLiteProjection
    private let machine: SimulatedThreads
    private let power: TablePower

    init(_ base: SQLiteProjection, _ machine: SimulatedThreads, _ power: TablePower) {
        (self.base, self.machine, self.power) = (base, machine, power)
    }

    private func use<Result>(_ body: () throws -> Result) throws -> Result {
        machine.pass()
        if power.isOff { throw StoreError("the process has ended") }
        let result = try body()
        machine.pass()
        return result
    }

    var engine: String { base.engine }
    func state() throws -> ProjectedState { try use { try base.state() } }
    func apply(_ blocks: [SealedBlock]) throws {
        try use {
            if power.failures > 0 {
                power.failures -= 1
                throw StoreError("the disk of the tables has failed")
            }
            try base.apply(blocks)
        }
    }
    func load(_ needs: Needs, into books: inout Books) throws -> StoreError? {
        // Not `use`: what borrows the books cannot be caught by a closure that escapes.
        machine.pass()
        if power.isOff { throw StoreError("the process has ended") }
        return try base.load(needs, into: &books)
    }
    func checkNext() throws -> Bool { try use { try base.checkNext() } }
    func history(_ query: HistoryQuery) throws -> HistoryPage { try use { try base.history(query) } }
    func lots(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenLot> {
        try use { try base.lots(query, at: time) }
    }
    func holds(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenHoldView> {
        try use { try base.holds(query, at: time) }
    }
    func balances(_ account: AccountName, currency: CurrencyCode?, asOf: Timestamp) throws -> [CurrencyBalance] {
        try use { try base.balances(account, currency: currency, asOf: asOf) }
    }
    func report(_ query: ReportQuery) throws -> ReportPage { try use { try base.report(query) } }
    func journal(_ query: JournalQuery) throws -> JournalPage { try use { try base.journal(query) } }
    func purchase(_ query: PurchaseQuery) throws -> PurchaseView { try use { try base.purchase(query) } }
    func find(_ query: FindQuery) throws -> Finding { try use { try base.find(query) } }
    func closing(through time: Timestamp) throws -> PeriodClosing? { try use { try base.closing(through: time) } }
    func appStoreWork(_ query: AppStoreWorkQuery) throws -> AppStoreWork { try use { try base.appStoreWork(query) } }
    var reasonForRenewal: String? { base.reasonForRenewal }
    func close() throws { try base.close() }
}

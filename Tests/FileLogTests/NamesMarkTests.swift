import FileLog
import Foundation
import Ledger
import LedgerTestKit
import Testing

/// The file that says that names are to be compared: it says the one thing or the other, whatever happens.
@Suite struct NamesMarkTests {
    @Test(arguments: [nil, "owed", ""])
    func whatIsNotedIsThereAfterAPowerCutAtAnyCall(before: String?) throws {
        var index = 0
        while true {
            let (ledger, disk) = TestLedger.simulated(seed: UInt64(index))
            try ledger.create()
            if let before { try ledger.folder.namesMark.write(before, disk) }
            let start = disk.changeCount
            disk.setFault { $0.isChange && $0.index >= start + index ? .off : nil }
            let isDone = (try? ledger.folder.namesMark.write("unproven", disk)) != nil
            disk.cutPower()
            disk.clearFault()
            let word = try ledger.folder.namesMark.read(disk)
            #expect(word == "unproven" || (word == before && !isDone), "call \(index)")
            if isDone { break }
            try ledger.folder.namesMark.write("owed", disk)
            #expect(try ledger.folder.namesMark.read(disk) == "owed", "call \(index)")
            index += 1
        }
        #expect(index >= 5, "it is made, written, synced, renamed, and its folder is synced")
    }

    @Test func itIsTakenAway() throws {
        let (ledger, disk) = TestLedger.simulated(seed: 2)
        try ledger.create()
        #expect(try ledger.folder.namesMark.read(disk) == nil)
        try ledger.folder.namesMark.write("owed", disk)
        try ledger.folder.namesMark.remove(disk)
        disk.cutPower()
        #expect(try ledger.folder.namesMark.read(disk) == nil)
    }

    @Test(arguments: ["a folder", "a fifo", "a loop", "a symbolic link to nothing"])
    func whatHasItsNameAndIsNoFileIsNamed(kind: String) throws {
        try TestLedger.withReal { ledger in
            let path = ledger.folder.namesMark.path
            switch kind {
            case "a folder": #expect(mkdir(path, 0o700) == 0)
            case "a fifo": #expect(mkfifo(path, 0o600) == 0)
            case "a loop": #expect(symlink(path, path) == 0)
            default: #expect(symlink("/nowhere/at/all", path) == 0)
            }
            let words = try #require(throws: LogError.self) { try ledger.folder.namesMark.read() }.description
            if kind == "a loop" {
                #expect(words.hasPrefix("reading \(path): ") && words.contains("symbolic links"))
            } else {
                #expect(words == "\(path) is \(kind), not a file; it is left as it is")
            }
        }
    }

    /// As an operator or an older version makes it.
    @Test func anEmptyFileHasAWordToo() throws {
        try TestLedger.withReal { ledger in
            let file = try ledger.disk.open(ledger.folder.namesMark.path, .creating)
            ledger.disk.close(file)
            #expect(try ledger.folder.namesMark.read() == "")
        }
    }
}

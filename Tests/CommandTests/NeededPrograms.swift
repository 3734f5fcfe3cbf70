import Foundation

/// Programs that tests run and that need not be installed: without one its tests are skipped. Those that the
/// environment variable `LEDGER_TESTS_NEED` names (with spaces between them) must be there: without one of these its
/// tests fail.
enum NeededPrograms {
    private static let names = Set(
        (ProcessInfo.processInfo.environment["LEDGER_TESTS_NEED"] ?? "").split(separator: " ").map(String.init))

    static func contain(_ name: String) -> Bool { names.contains(name) }
}

import Testing

@testable import LedgerEngine

/// Whose read is next where many wait.
@Suite struct TenantTurnsTests {
    @Test func tenantsTakeTurnsAndEachIsServedInItsOrder() {
        let (many, few) = (Tenant(), Tenant())
        var turns = TenantTurns<String>()
        for number in 0..<500 { turns.append("many \(number)", of: many) }
        for number in 0..<2 { turns.append("few \(number)", of: few) }
        let first = (0..<5).compactMap { _ in turns.popFirst() }
        #expect(first == ["many 0", "few 0", "many 1", "few 1", "many 2"])
        var rest: [String] = []
        while let read = turns.popFirst() { rest.append(read) }
        #expect(rest == (3..<500).map { "many \($0)" })
        turns.append("few 2", of: few)
        #expect(turns.popFirst() == "few 2" && turns.popFirst() == nil)
    }
}

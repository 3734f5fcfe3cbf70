import LedgerWire
import Testing

/// The protocol's table of methods and roles.
@Suite struct MethodTests {
    /// Who may call each method; `nil` stands for a connection that has not authenticated.
    private static let table: [(method: LedgerWire.Method, allowed: Set<Role?>)] = [
        (Methods.ping.method, [nil, .purchases, .game, .finance, .replica, .admin]),
        (Methods.authenticate.method, [nil, .purchases, .game, .finance, .replica, .admin]),
        (Methods.info.method, [.purchases, .game, .finance, .replica, .admin]),
        (Methods.credit.method, [.purchases, .admin]), (Methods.notify.method, [.purchases, .admin]),
        (Methods.purchase.method, [.purchases, .finance, .admin]), (Methods.consumption.method, [.purchases, .admin]),
        (Methods.spend.method, [.game, .admin]), (Methods.reverse.method, [.game, .admin]),
        (Methods.hold.method, [.game, .admin]),
        (Methods.capture.method, [.game, .admin]), (Methods.release.method, [.game, .admin]),
        (Methods.grant.method, [.game, .admin]),
        (Methods.atomic.method, [.game, .admin]),
        (Methods.balance.method, [.purchases, .game, .finance, .admin]),
        (Methods.history.method, [.purchases, .game, .finance, .admin]),
        (Methods.report.method, [.finance, .admin]), (Methods.journal.method, [.finance, .admin]),
        (Methods.find.method, [.purchases, .game, .finance, .admin]),
        (Methods.head.method, [.finance, .admin]), (Methods.forget.method, [.admin]),
        (Methods.blocks.method, [.replica, .admin]), (Methods.promote.method, [.admin]),
    ]

    @Test func eachRoleMayCallWhatTheTableSays() {
        #expect(Set(Self.table.map(\.method)) == Set(Methods.all) && Self.table.count == Methods.all.count)
        for (method, allowed) in Self.table {
            #expect((method.access == .everyone) == allowed.contains(nil), "\(method)")
            for role in Role.allCases {
                #expect(method.isAllowed(to: Roles(role)) == allowed.contains(role), "\(method) \(role)")
            }
            // Of several roles one is enough.
            let denied = Roles(Role.allCases.filter { !allowed.contains($0) }.map { Roles($0) })
            #expect(method.isAllowed(to: denied.union(.admin)))
            #expect(denied.isEmpty || !method.isAllowed(to: denied), "\(method)")
        }
    }

    @Test func everyMethodIsFoundByItsName() {
        for method in Methods.all {
            let line = parse(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{"?":0}}"#)
            #expect(line.error?.reason == "invalid_params")
            #expect(line.error?.path == "?")
        }
    }

    @Test func aDenialNamesRoleAndMethod() {
        let report = Methods.report.method
        #expect(WireError.forbidden(report, .game).message == "the role game may not call report")
        #expect(
            WireError.forbidden(report, [.game, .purchases]).message
                == "the roles purchases, game may not call report")
    }
}

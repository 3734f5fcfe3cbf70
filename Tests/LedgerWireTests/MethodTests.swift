import LedgerWire
import Testing

/// The protocol's table of methods and roles.
@Suite struct MethodTests {
    /// Who may call each method; `nil` stands for a connection that has not authenticated.
    private static let table: [(method: Method, allowed: Set<Role?>)] = [
        (.ping, [nil, .purchases, .game, .finance, .admin]),
        (.authenticate, [nil, .purchases, .game, .finance, .admin]),
        (.info, [.purchases, .game, .finance, .admin]),
        (.credit, [.purchases, .admin]), (.notify, [.purchases, .admin]),
        (.purchase, [.purchases, .finance, .admin]), (.consumption, [.purchases, .admin]),
        (.spend, [.game, .admin]), (.reverse, [.game, .admin]), (.hold, [.game, .admin]),
        (.capture, [.game, .admin]), (.release, [.game, .admin]), (.grant, [.game, .admin]),
        (.atomic, [.game, .admin]),
        (.balance, [.purchases, .game, .finance, .admin]), (.history, [.purchases, .game, .finance, .admin]),
        (.report, [.finance, .admin]), (.journal, [.finance, .admin]), (.forget, [.admin]),
    ]

    @Test func eachRoleMayCallWhatTheTableSays() {
        #expect(Self.table.map(\.method) == Method.allCases)
        for (method, allowed) in Self.table {
            for role in [nil, .purchases, .game, .finance, .admin] as [Role?] {
                let denial = method.denial(to: role)
                if allowed.contains(role) {
                    #expect(denial == nil, "\(method) \(String(describing: role))")
                } else {
                    #expect(denial?.reason == (role == nil ? "unauthenticated" : "forbidden"))
                }
            }
        }
    }

    @Test func everyMethodIsFoundByItsName() {
        for method in Method.allCases {
            let line = parse(#"{"jsonrpc":"2.0","id":1,"method":"\#(method.rawValue)","params":{"?":0}}"#)
            #expect(line.error?.reason == "invalid_params")
            #expect(line.error?.path == "?")
        }
    }

    @Test func aDenialNamesRoleAndMethod() {
        #expect(Method.report.denial(to: .game)?.message == "the role game may not call report")
    }
}

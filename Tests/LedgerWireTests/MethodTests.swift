import LedgerWire
import Testing

/// The protocol's table of methods and roles.
@Suite struct MethodTests {
    /// Which role may call which method is in the table of `AccessTests`.
    @Test func ofSeveralRolesOneIsEnough() {
        for method in Methods.all {
            for one in Role.allCases {
                for other in Role.allCases {
                    let isAllowed = method.isAllowed(to: Roles(one)) || method.isAllowed(to: Roles(other))
                    #expect(method.isAllowed(to: [Roles(one), Roles(other)]) == isAllowed, "\(method) \(one) \(other)")
                }
            }
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

import LedgerPages
import LedgerWire

/// Where a visitor shows their token.
package struct LoginPage {
    /// Why it is shown.
    package enum Reason: Sendable {
        case asked
        /// Another page needs it.
        case needed
        case wrongToken
        /// There are no more places for connections of the token.
        case noPlace
        /// Its time is over, or its token is not known any more.
        case sessionEnded
        /// The token has just come to open another ledger.
        case otherLedger
    }

    let reason: Reason
    /// What was asked for, which is shown behind it.
    let next: ConsoleCall?

    package init(_ reason: Reason, before next: ConsoleCall? = nil) {
        self.reason = reason
        self.next = next
    }

    package var document: ConsoleDocument {
        ConsoleLayout.document(title: "Sign in", status: status) { page in
            page.element("main", ["id": "main", "class": "login"]) { main in
                main.element("h1", "Ledger console")
                if let words { main.element("p", ["class": "notice", "role": "status", "id": "why"], words) }
                main.element("form", ["method": "post", "action": "/login"]) { form in
                    // By it a browser keeps the token, where its user wants that.
                    form.empty(
                        "input",
                        [
                            "type": "text", "name": "user", "value": "ledger console", "autocomplete": "username",
                            "hidden": "hidden", "readonly": "readonly",
                        ])
                    form.element("label", ["for": "token"], "Your token")
                    form.empty(
                        "input",
                        [
                            "id": "token", "name": "token", "type": "password", "required": "required",
                            "maxlength": "\(WireLimits.tokenBytesMax)", "autocomplete": "current-password",
                            "autofocus": "autofocus",
                        ])
                    if let next {
                        form.empty("input", ["type": "hidden", "name": "next", "value": next.address])
                    }
                    form.element("button", ["type": "submit"], "Sign in")
                }
                main.element(
                    "p", ["class": "quiet"],
                    "It is a token of the service\u{2019}s configuration. What it may read by the protocol, it may "
                        + "read here, and nothing else.")
            }
        }
    }

    private var status: UInt {
        switch reason {
        case .asked: 200
        case .needed, .sessionEnded, .wrongToken: 401
        case .noPlace, .otherLedger: 503
        }
    }

    private var words: String? {
        switch reason {
        case .asked, .needed: nil
        case .wrongToken: "This token is not known."
        case .noPlace: "Too many connections use this token, or the service stops. Try again in a moment."
        case .sessionEnded: "Your session is over. Sign in again."
        case .otherLedger: "Your token opens another ledger now. Try again."
        }
    }
}

/// Pages that need no ledger.
package enum ConsoleNotice {
    /// A page that no link of the console's leads to.
    package static func mistaken(_ mistake: ConsoleMistake) -> ConsoleDocument { ConsoleLayout.mistaken(mistake) }
}

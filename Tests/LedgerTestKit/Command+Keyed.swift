package import Ledger

/// What a game server asks, as commands.
extension Command {
    package static func spend(_ spend: Spend) -> Command { .keyed(.spend(spend)) }
    package static func grant(_ grant: Grant) -> Command { .keyed(.grant(grant)) }
    package static func reverse(_ reversal: Reversal) -> Command { .keyed(.reverse(reversal)) }
    package static func hold(_ hold: Hold) -> Command { .keyed(.hold(hold)) }
    package static func capture(_ capture: Capture) -> Command { .keyed(.capture(capture)) }
    package static func release(_ release: Release) -> Command { .keyed(.release(release)) }
}

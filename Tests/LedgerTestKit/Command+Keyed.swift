package import Ledger

/// What a game server asks, as commands.
extension Command {
    package static func spend(_ spend: Spend) -> Command { .keyed(.operation(.spend(spend))) }
    package static func grant(_ grant: Grant) -> Command { .keyed(.operation(.grant(grant))) }
    package static func reverse(_ reversal: Reversal) -> Command { .keyed(.operation(.reverse(reversal))) }
    package static func hold(_ hold: Hold) -> Command { .keyed(.operation(.hold(hold))) }
    package static func capture(_ capture: Capture) -> Command { .keyed(.operation(.capture(capture))) }
    package static func release(_ release: Release) -> Command { .keyed(.operation(.release(release))) }
    package static func atomic(_ atomic: Atomic) -> Command { .keyed(.atomic(atomic)) }
}

extension LedgerEvent {
    /// By which it is counted.
    var name: String {
        switch self {
        case .projectionFailed: "projection_failed"
        case .projectionWorksAgain: "projection_works_again"
        case .tablesDamaged: "tables_damaged"
        case .tablesBeingRenewed: "tables_being_renewed"
        case .renewalPutOff: "renewal_put_off"
        case .tablesRenewed: "tables_renewed"
        case .renewalFailed: "renewal_failed"
        case .logFailed: "log_failed"
        case .logWorksAgain: "log_works_again"
        case .erasureRefused: "erasure_refused"
        case .nameOwed: "name_owed"
        case .owedNameNotNoted: "owed_name_not_noted"
        case .namesMarkLeft: "names_mark_left"
        case .standbysLacking: "standbys_lacking"
        case .standbysEnough: "standbys_enough"
        case .standbyCame: "standby_came"
        case .standbyLeft: "standby_left"
        case .follows: "follows"
        case .leaderLost: "leader_lost"
        case .promoted: "promoted"
        case .followsNode: "follows_node"
        case .leads: "leads"
        case .steppedDown: "stepped_down"
        case .logNotFollowed: "log_not_followed"
        case .clockHeldBack: "clock_held_back"
        case .clockReasonable: "clock_reasonable"
        case .commitFailed: "commit_failed"
        case .cameTooLate: "came_too_late"
        case .slowCommit: "slow_commit"
        case .readFailed: "read_failed"
        case .headNotWritten: "head_not_written"
        case .headWrittenAgain: "head_written_again"
        }
    }
}

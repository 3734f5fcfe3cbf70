import AppleReports

/// - Parameter files: the paths of files from App Store Connect, compressed or not.
/// - Returns: what a person must look at.
func findings(of files: [String], against purchases: [BookedTransaction]) -> [String] {
    let reconciliation = Reconciliation(
        files: files.map { ($0, ReportInput(path: $0)) }, purchases: purchases,
        options: Reconciliation.Options(zone: .pacific, app: "GAME1"))
    var findings: [String] = []
    for file in reconciliation.files {
        if let fault = file.fault { findings.append("\(file.name): \(fault)") }
        for fault in file.facts?.faults ?? [] { findings.append("\(file.name): \(fault)") }
    }
    for difference in reconciliation.match.differences where !difference.isNatural {
        let ours = difference.explanation?.transactions.joined(separator: " ") ?? "nothing of ours"
        findings.append("\(difference): \(ours)")
    }
    for rest in reconciliation.settlement.unassigned {
        findings.append("\(rest.share) \(rest.shareCurrency) for \(rest.units) \(rest.key.product) of nobody")
    }
    return findings
}

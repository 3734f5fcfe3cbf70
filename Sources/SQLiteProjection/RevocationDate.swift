import Ledger
import StrictJSON

extension BlockRows.EvidenceRow {
    /// When the App Store took back what the JWS says is revoked, as it says; `nil` where it revokes nothing, or says
    /// no date: an upgraded subscription is refunded without one.
    var revocationDate: Timestamp? {
        if revoked == 0 { return nil }
        return payload.withUnsafeBufferPointer { bytes in
            var date: Int64?
            var reader = JSONReader(bytes)
            do throws(JSONError) {
                try reader.object { reader, key throws(JSONError) in
                    guard key == "revocationDate", try reader.peek() != .null else { return try reader.skip() }
                    date = try reader.milliseconds()
                }
            } catch {
                // An imported purchase has no JWS.
                return nil
            }
            return date.flatMap { Plausible.isTime($0) ? $0 : nil }
        }
    }
}

import FileLog
import Foundation

extension LedgerFolder {
    /// The tables, which can be made anew from the log at any time.
    var projection: String { path + "/projection.sqlite" }

    /// There where damage was found in the tables: the next start makes them anew.
    var damageMark: String { path + "/projection.damaged" }

    /// The bytes of all files.
    var byteCount: Int64 {
        var bytes: Int64 = 0
        let files = FileManager.default.enumerator(atPath: path)
        while let name = files?.nextObject() as? String {
            let attributes = try? FileManager.default.attributesOfItem(atPath: path + "/" + name)
            if attributes?[.type] as? FileAttributeType == .typeRegular {
                bytes += (attributes?[.size] as? NSNumber)?.int64Value ?? 0
            }
        }
        return bytes
    }
}

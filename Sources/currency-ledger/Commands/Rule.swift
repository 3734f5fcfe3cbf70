import AppStore
import ArgumentParser
import Foundation
import Ledger
import StrictJSON

/// What Apple's values keep to, checked of options; one that is not given keeps every rule.
enum Rule {
    static func oneOf(_ option: String, _ value: String?, _ known: [String]) throws {
        guard let value, !known.contains(value) else { return }
        throw ValidationError("\(option) must be one of \(known.joined(separator: ", ")), not '\(value)'.")
    }

    static func range(_ option: String, _ value: Int64?, _ range: ClosedRange<Int64>) throws {
        guard let value, !range.contains(value) else { return }
        throw ValidationError("\(option) must be from \(range.lowerBound) to \(range.upperBound), not \(value).")
    }

    static func identifier(_ option: String, _ value: String?) throws {
        guard let value, !(1...AppStoreLimits.identifierBytesMax).contains(value.utf8.count) else { return }
        throw ValidationError("\(option) must have 1 to \(AppStoreLimits.identifierBytesMax) bytes.")
    }

    /// An id of the App Store's.
    static func number(_ option: String, _ value: String?) throws {
        guard let value, TransactionID(value) == nil else { return }
        throw ValidationError(
            "\(option) must be decimal digits, without a zero before them, that fit 64 bits, not '\(value)'.")
    }

    /// A code of three letters, as those of countries (ISO 3166-1) and of currencies (ISO 4217).
    static func letters(_ option: String, _ value: String?) throws {
        guard let value, value.wholeMatch(of: /[A-Z]{3}/) == nil else { return }
        throw ValidationError("\(option) must be three capital letters, not '\(value)'.")
    }

    static func uuid(_ option: String, _ value: String?) throws {
        guard let value, UUID(uuidString: value) == nil else { return }
        throw ValidationError("\(option) must be a UUID, not '\(value)'.")
    }

    /// The App Store opened on 10 July 2008. What is before it is a mistake: most of all seconds in place of
    /// milliseconds.
    private static let firstTime: Timestamp = 1_215_648_000_000

    static func time(_ option: String, _ value: Moment?) throws {
        guard let time = value?.milliseconds, !(firstTime...AppStoreLimits.numberMax).contains(time) else { return }
        throw ValidationError(
            "\(option) must be a time since the App Store opened, in milliseconds since 1970 or ISO 8601, not \(time).")
    }

    /// A time that a service takes for one that is past.
    static func past(_ option: String, _ value: Moment?) throws {
        try time(option, value)
        guard let value, value.milliseconds > Clock.now() + AppStoreLimits.signedDateAheadMillisecondsMax else {
            return
        }
        throw ValidationError("\(option) must not be in the future, as \(value.milliseconds) is.")
    }

    static func object(_ option: String, _ value: String?) throws {
        guard var value else { return }
        let fault: JSONError? = value.withUTF8 { bytes in
            var reader = JSONReader(bytes)
            do throws(JSONError) {
                try reader.object { (reader, _) throws(JSONError) in try reader.skip() }
                try reader.end()
                return nil
            } catch {
                return error
            }
        }
        if let fault { throw ValidationError("\(option) must be a JSON object: \(fault).") }
    }
}

import Foundation
import StrictJSON

/// Our reader of JSON beside Foundation's.
enum JSONComparison {
    /// - Returns: why the text is not JSON; `nil` where it is.
    static func check(_ bytes: [UInt8]) -> JSONError? {
        let fault = fault(bytes)
        guard isComparable(bytes) else { return fault }
        let foundation = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
        if let fault {
            require(foundation == nil || isStricter(fault, bytes), "Foundation reads a text that \(fault.message)")
        } else {
            require(foundation != nil, "Foundation does not read what is read as JSON")
        }
        return fault
    }

    /// Of nesting and members however many.
    private static func fault(_ bytes: [UInt8]) -> JSONError? {
        bytes.withUnsafeBufferPointer { buffer in
            do throws(JSONError) {
                var reader = JSONReader(buffer)
                _ = try reader.rawOfAnyShape()
                try reader.end()
                return nil
            } catch {
                return error
            }
        }
    }

    /// Foundation refuses numbers that no double holds and nesting beyond 512 levels, and takes a text with zero bytes
    /// for UTF-16 or UTF-32.
    private static func isComparable(_ bytes: [UInt8]) -> Bool {
        var digits = 0
        var brackets = 0
        for byte in bytes {
            switch byte {
            case 0: return false
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digits += 1
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                if digits > 0 { return false }
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                brackets += 1
                digits = 0
            default: digits = 0
            }
            if digits > 300 || brackets > 500 { return false }
        }
        return true
    }

    /// What Foundation reads beyond RFC 8259: a mark at the text's beginning, bytes and escapes that are no character,
    /// and a comma before a closing bracket.
    private static func isStricter(_ fault: JSONError, _ bytes: [UInt8]) -> Bool {
        switch fault.kind {
        case .invalidUTF8: return true
        case .syntax(let what):
            if what == "a low surrogate stands alone" || what == "a high surrogate stands alone" { return true }
            let isComma = what == "an element is missing" || what == "a member's name is missing"
            guard isComma, fault.offset < bytes.count else { return bytes.first == 0xEF || bytes.first == 0xFE }
            return bytes[fault.offset] == UInt8(ascii: "]") || bytes[fault.offset] == UInt8(ascii: "}")
        case .tooDeep, .tooManyMembers, .duplicateKey, .wrongType, .notAnInteger, .outOfRange, .missing, .invalid:
            return false
        }
    }
}

extension JSONReader {
    /// The names that one object has had so far.
    ///
    /// The first thirty-two are found by their hashes and told apart by their bytes, so that an usual object costs no
    /// allocation; after that a set (whose hashing is seeded) keeps the work linear, whatever the sender chose.
    @usableFromInline struct Keys {
        /// Room for thirty-two hashes, used as plain memory: SIMD's own comparison is a loop that copies all of it
        /// each time.
        private var hashes = SIMD32<UInt32>()
        private var offsets = SIMD32<UInt32>()
        var count = 0
        var more: Set<[UInt8]> = []
        @usableFromInline init() {}

        /// The place, at or after `first`, of an earlier key with this hash.
        mutating func place(of hash: UInt32, from first: Int) -> Int? {
            let known = min(count, JSONLimits.membersInVector)
            return withUnsafeMutableBytes(of: &hashes) { bytes in
                let hashes = bytes.assumingMemoryBound(to: UInt32.self)
                var place = first
                while place < known {
                    if hashes[place] == hash { return place }
                    place += 1
                }
                return nil
            }
        }

        mutating func offset(at place: Int) -> Int {
            withUnsafeMutableBytes(of: &offsets) { Int($0.assumingMemoryBound(to: UInt32.self)[place]) }
        }

        mutating func append(_ hash: UInt32, at offset: Int) {
            withUnsafeMutableBytes(of: &hashes) { $0.assumingMemoryBound(to: UInt32.self)[count] = hash }
            withUnsafeMutableBytes(of: &offsets) { $0.assumingMemoryBound(to: UInt32.self)[count] = UInt32(offset) }
        }
    }

    @usableFromInline mutating func beginObject() throws(JSONError) -> Keys {
        try expect(.object)
        try descend()
        return Keys()
    }

    @usableFromInline mutating func beginArray() throws(JSONError) {
        try expect(.array)
        try descend()
    }

    /// The next member's name, with the reader before its value; nil when the object has ended.
    @usableFromInline mutating func nextKey(_ keys: inout Keys) throws(JSONError) -> JSONText? {
        skipWhiteSpace()
        if position < count, base[position] == UInt8(ascii: "}") {
            position += 1
            depth -= 1
            return nil
        }
        if keys.count > 0 {
            guard position < count, base[position] == UInt8(ascii: ",") else {
                throw syntax("a comma or a closing brace is missing")
            }
            position += 1
            skipWhiteSpace()
        }
        guard position < count, base[position] == UInt8(ascii: "\"") else { throw syntax("a member's name is missing") }
        let start = position
        let key = try text()
        if allowsAnyMembers {
            keys.count += 1
            return try pastColon(key)
        }
        guard keys.count < membersMax else { throw JSONError(.tooManyMembers, offset: start) }
        if !add(key, at: start, to: &keys) {
            throw JSONError(.duplicateKey, offset: start).inside(key)
        }
        return try pastColon(key)
    }

    private mutating func pastColon(_ key: JSONText) throws(JSONError) -> JSONText {
        skipWhiteSpace()
        guard position < count, base[position] == UInt8(ascii: ":") else { throw syntax("a colon is missing") }
        position += 1
        return key
    }

    /// True if there is an element, with the reader before it.
    @usableFromInline mutating func nextElement(_ index: Int) throws(JSONError) -> Bool {
        skipWhiteSpace()
        if position < count, base[position] == UInt8(ascii: "]") {
            position += 1
            depth -= 1
            return false
        }
        guard index > 0 else { return true }
        guard position < count, base[position] == UInt8(ascii: ",") else {
            throw syntax("a comma or a closing bracket is missing")
        }
        position += 1
        skipWhiteSpace()
        // Otherwise the next round would take a bracket after a comma for the end.
        guard position < count, base[position] != UInt8(ascii: "]") else { throw syntax("an element is missing") }
        return true
    }

    private mutating func descend() throws(JSONError) {
        position += 1
        depth += 1
        guard depth <= JSONLimits.depthMax else { throw JSONError(.tooDeep, offset: position - 1) }
    }

    /// False if the object has the name already.
    private func add(_ key: JSONText, at start: Int, to keys: inout Keys) -> Bool {
        let hash = key.hash
        var from = 0
        while let place = keys.place(of: hash, from: from) {
            var earlier = self
            earlier.position = keys.offset(at: place)
            if earlier.knownText().hasSameBytes(as: key) { return false }
            from = place + 1
        }
        if keys.count < JSONLimits.membersInVector {
            keys.append(hash, at: start)
        } else {
            guard key.withBytes({ keys.more.insert(Array($0)).inserted }) else { return false }
        }
        keys.count += 1
        return true
    }
}

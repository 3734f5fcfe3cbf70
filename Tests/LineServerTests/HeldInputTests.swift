import NIOCore
import Testing

@testable import LineServer

@Suite struct HeldInputTests {
    private static let readingBytes = 64 << 10

    @Test func whatComesIsGivenInItsOrder() {
        var held = HeldInput()
        #expect(held.removeFirst(3) == nil)
        held.append(ByteBuffer(string: "abcd"))
        #expect(held.removeFirst(3) == ByteBuffer(string: "abc"))
        held.append(ByteBuffer(string: "ef"))
        #expect(held.count == 3 && !held.isEmpty)
        #expect(held.removeFirst(2) == ByteBuffer(string: "de"))
        #expect(held.removeFirst(2) == ByteBuffer(string: "f"))
        #expect(held.isEmpty && held.removeFirst(2) == nil)
    }

    /// A client that sends on without end is read from again before all that it has sent was handed on.
    /// - Parameter isKept: whether pieces are in use still when more comes.
    @Test(arguments: [false, true])
    func whatWasHandedOnKeepsNoMemory(isKept: Bool) {
        var held = HeldInput()
        var kept: [ByteBuffer] = []
        for _ in 0..<1_000 {
            held.append(ByteBuffer(repeating: 1, count: Self.readingBytes))
            kept = []
            while held.count > 4_096, let piece = held.removeFirst(4_096) {
                if isKept { kept = [piece] }
            }
        }
        #expect(held.count == 4_096)
        #expect(held.memoryBytes <= 4 * Self.readingBytes)
    }
}

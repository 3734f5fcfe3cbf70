import Testing

@testable import LedgerEngine

@Suite struct SoleUseTests {
    @Test func oneAfterTheOtherMayUseIt() async {
        await #expect(processExitsWith: .success) {
            let use = SoleUse()
            for _ in 0..<3 { use.during {} }
        }
    }

    @Test func twoAtATimeEndTheProcess() async {
        await #expect(processExitsWith: .failure) {
            let use = SoleUse()
            use.during { use.during {} }
        }
    }
}

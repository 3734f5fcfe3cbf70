import Ledger
import LedgerEngine

/// What there is to tell, as the ledger has it.
extension Correspondence {
    func requests(after number: Int64, limit: Int) async throws -> [AppStoreWork.ConsumptionRequest] {
        guard
            case .consumptionRequests(let rows) = try await work(
                .consumptionRequests(after: number, since: Correspondence.earliest(), limit: limit))
        else { preconditionFailure("a page of consumption requests was asked for") }
        return rows
    }

    func purchases(after number: Int64, limit: Int) async throws -> [AppStoreWork.Purchase] {
        guard
            case .purchases(let rows) = try await work(
                .purchases(after: number, since: Correspondence.earliest(), limit: limit))
        else { preconditionFailure("a page of purchases was asked for") }
        return rows
    }

    func assignments(after number: Int64, limit: Int) async throws -> [AppStoreWork.Assignment] {
        guard
            case .assignments(let rows) = try await work(
                .assignments(after: number, since: Correspondence.earliest(), limit: limit))
        else { preconditionFailure("a page of assignments was asked for") }
        return rows
    }

    private func work(_ query: AppStoreWorkQuery) async throws -> AppStoreWork {
        switch await caller.answer(to: .query(.appStoreWork(query))) {
        case .success(.appStoreWork(let work)): return work
        case .success(let outcome): preconditionFailure("work was answered \(outcome)")
        case .failure(let fault): throw fault
        }
    }
}

import AppStoreServer
import Testing

/// The body of Send Consumption Information, made and read.
@Suite struct ConsumptionTests {
    /// What the ledger's `consumption` answers as `requestBody`.
    private static let body = """
        {"customerConsented":true,"consumptionPercentage":24000,"deliveryStatus":"DELIVERED",\
        "refundPreference":"DECLINE","sampleContentProvided":false}
        """

    @Test func theLedgersBodyIsSentAsItIs() throws {
        let information = try ConsumptionInformation(requestBody: Array(Self.body.utf8))
        let expected = ConsumptionInformation(
            deliveryStatus: .delivered, consumptionPercentage: 24_000, refundPreference: .decline,
            sampleContentProvided: false)
        #expect(information == expected)
        #expect(String(decoding: information.json(), as: UTF8.self) == Self.body)
    }

    @Test func whatIsLeftOutStaysOut() throws {
        let information = ConsumptionInformation(
            deliveryStatus: .serverOutage, consumptionPercentage: nil, sampleContentProvided: true)
        let json = String(decoding: information.json(), as: UTF8.self)
        #expect(
            json == """
                {"customerConsented":true,"deliveryStatus":"UNDELIVERED_SERVER_OUTAGE","sampleContentProvided":true}
                """)
        #expect(try ConsumptionInformation(requestBody: information.json()) == information)
    }

    @Test(arguments: [
        ("{}", "customerConsented is missing"),
        (
            #"{"customerConsented":false,"deliveryStatus":"DELIVERED","sampleContentProvided":false}"#,
            "customerConsented must be true"
        ),
        (#"{"customerConsented":true,"sampleContentProvided":false}"#, "deliveryStatus is missing"),
        (#"{"customerConsented":true,"deliveryStatus":"DELIVERED"}"#, "sampleContentProvided is missing"),
        (#"{"customerConsented":true,"playTime":5}"#, "playTime is not a member of it"),
        (#"{"customerConsented":1}"#, "customerConsented must be true or false"), ("[]", "the text must be an object"),
        (#"{"customerConsented":true,"consumptionPercentage":1.5}"#, "consumptionPercentage must be an integer"),
    ])
    func aBodyThatIsNoneIsRefused(body: String, why: String) throws {
        do throws(AppStoreServerError) {
            _ = try ConsumptionInformation(requestBody: Array(body.utf8))
            Issue.record("\(body) was read")
        } catch {
            #expect(error.description.contains("this is no consumption information: \(why)"), "\(error)")
        }
    }
}

package partner

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
)

// A stored answer to a batch outlives the erasure of a guest. So it has nothing of a failed item but the ids by which the PMS finds it.
func TestStoredBatchHasNoGuests(t *testing.T) {
	for name, c := range map[string]struct{ sent, want string }{
		"json": {
			`{"pmsMeta": {"id": "B-1", "companionIds": ["secret"]}, "pmsNumber": "N1", "state": "gone", "booker": {"lastName": "secret"}, "guest": "secret"}`,
			`{"pmsMeta": {"id": "B-1"}, "pmsNumber": "N1"}`,
		},
		"proto names":      {`{"pms_meta": {"id": "B-1", "companion_ids": ["secret"]}, "pms_number": "N1"}`, `{"pms_meta": {"id": "B-1"}, "pms_number": "N1"}`},
		"wrong types":      {`{"pmsMeta": ["secret"], "pmsNumber": {"secret": 1}, "booker": "secret"}`, `{}`},
		"id of wrong type": {`{"pmsMeta": {"id": {"secret": 1}}, "pmsNumber": 7}`, `{"pmsMeta": {}, "pmsNumber": 7}`},
	} {
		t.Run(name, func(t *testing.T) {
			sent, want := &structpb.Struct{}, &structpb.Struct{}
			if err := protojson.Unmarshal([]byte(c.sent), sent); err != nil {
				t.Fatal(err)
			}
			if err := protojson.Unmarshal([]byte(c.want), want); err != nil {
				t.Fatal(err)
			}
			answer := &partnerv1.BatchUpsertReservationsResponse{Data: &partnerv1.BatchOutcome{Failures: []*partnerv1.BatchFailure{{RequestData: sent}, {}}}}
			RemovePersonal(answer)
			if got := answer.GetData().GetFailures()[0].GetRequestData(); !proto.Equal(got, want) {
				t.Errorf("stored %s, want %s", answer, want)
			}
		})
	}
}

package partner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/test/dbtest"
)

// requested is the topic of requested readings.
const requested db.Topic = "test.requested"

// counter is the service at a property with one integration; read receives each requested reading of getSpaces,
// once its change is stored.
func counter(t *testing.T, d *db.DB, read func()) (*Service, context.Context) {
	t.Helper()
	keys := dbtest.Keys(t, d, "prp_1")
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		if err := tx.Property.Create().SetID("prp_1").SetName("One").SetTimeZone("Europe/Berlin").Exec(tx.Context()); err != nil {
			return err
		}
		return tx.Integration.Create().SetID("int_1").SetPropertyID("prp_1").SetName("PMS").SetScopes([]string{}).Exec(tx.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	d.Subscribe(requested, func(string) { read() })
	s := &Service{DB: d, Keys: keys, Answers: &idem.Answers{DB: d, Keys: keys}, Validator: protovalidate.GlobalValidator, ReadSpaces: func(tx *db.Tx, propertyID, integrationID string) error {
		if propertyID != "prp_1" || integrationID != "int_1" {
			return errors.New("another's spaces")
		}
		tx.Notify(requested, rand.Text())
		return nil
	}}
	return s, actor.With(t.Context(), actor.Actor{Kind: actor.Integration, ID: "int_1", IntegrationID: "int_1", AppID: "app_1", PropertyID: "prp_1"})
}

func sent(id string) *partnerv1.Reservation {
	return &partnerv1.Reservation{
		PmsMeta: &partnerv1.PmsMeta{Id: id, SpaceId: ptr("R1")}, PmsNumber: "N" + id, Booker: &partnerv1.Booker{LastName: "L"}, State: "confirmed",
		FromDate: ptr("2026-12-01"), ToDate: ptr("2026-12-02"),
	}
}

// Each item of a batch succeeds or fails independently, in the order sent. A failed item is rolled back.
func TestBatchItemsAreIndependent(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		wanted := 0
		s, ctx := counter(t, d, func() { wanted++ })
		bad := sent("B")
		bad.State = "in"
		bad.Booker.Email = ptr("no-address")
		lost := sent("C")
		lost.PmsMeta.SpaceId, lost.ParentSpaceId = nil, ptr("spc_unknown")
		late := sent("A")
		late.PmsNumber = "again"
		out, err := s.BatchUpsertReservations(ctx, &partnerv1.BatchUpsertReservationsRequest{Reservations: []*partnerv1.Reservation{
			sent("A"), bad, lost, sent("D"), late, {},
		}})
		if err != nil {
			t.Fatal(err)
		}
		var good []string
		for _, r := range out.GetData().GetUpdatedReservations() {
			good = append(good, r.GetPmsMeta().GetId()+" "+r.GetPmsNumber()+" "+r.GetAccess().GetReasons()[0])
		}
		if diff := cmp.Diff([]string{"A NA spaceUnknown", "D ND spaceUnknown", "A again spaceUnknown"}, good); diff != "" {
			t.Error(diff)
		}
		var failed []string
		for _, f := range out.GetData().GetFailures() {
			failed = append(failed, fmt.Sprintf("%v %d %s", f.GetRequestData().GetFields()["pmsNumber"].GetStringValue(), f.GetError().GetStatus(), f.GetError().GetReason()))
		}
		if diff := cmp.Diff([]string{"NB 400 invalidFields", "NC 404 spaceNotFound", " 400 invalidFields"}, failed); diff != "" {
			t.Error(diff)
		}
		stored, err := d.View(t.Context()).Reservation.Query().Count(t.Context())
		if err != nil || stored != 2 {
			t.Errorf("%d stored, %v", stored, err)
		}
		if wanted != 3 {
			t.Errorf("%d readings of getSpaces are wanted, by three items that were stored", wanted)
		}
	})
}

// An internal error fails the whole batch: only acknowledged changes are stored.
// A repeated reset of a key chain is answered from what is stored, also once its reservation is removed.
func TestRepeatedResetOfARemovedReservation(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, ctx := counter(t, d, func() {})
		a, _ := actor.From(ctx)
		a.Scopes = append(a.Scopes, actor.PINsRead)
		answer := &partnerv1.ResetKeyChainResponse{Data: &partnerv1.KeyChainReset{Reservation: &partnerv1.Reservation{Id: "rsv_removed"}}}
		if err := s.RenderReset(actor.With(ctx, a), answer); err != nil {
			t.Error(err)
		}
	})
}

func TestInternalErrorFailsTheBatch(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, ctx := counter(t, d, func() { t.Error("reported a change that was not stored") })
		read := s.ReadSpaces
		s.ReadSpaces = func(tx *db.Tx, propertyID, integrationID string) error {
			n, err := tx.Reservation.Query().Count(tx.Context())
			if err == nil && n == 2 {
				err = errors.New("a disk on fire")
			}
			return errors.Join(err, read(tx, propertyID, integrationID))
		}
		_, err := s.BatchUpsertReservations(ctx, &partnerv1.BatchUpsertReservationsRequest{Reservations: []*partnerv1.Reservation{sent("A"), sent("B"), sent("C")}})
		if err == nil {
			t.Error("a defect was answered as a failure of one item")
		}
		if n, err := d.View(t.Context()).Reservation.Query().Count(t.Context()); err != nil || n != 0 {
			t.Errorf("%d stored, %v", n, err)
		}
	})
}

// The item in a failure omits values that JSON cannot represent.
func TestBatchReturnsItemWithInvalidTime(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, ctx := counter(t, d, func() {})
		bad := sent("A")
		bad.State, bad.UpdatedAt = "unheard of", &timestamppb.Timestamp{Nanos: -1}
		got, err := s.BatchUpsertReservations(ctx, &partnerv1.BatchUpsertReservationsRequest{Reservations: []*partnerv1.Reservation{bad}})
		if err != nil {
			t.Fatal(err)
		}
		failures := got.GetData().GetFailures()
		if len(failures) != 1 || failures[0].GetRequestData().GetFields()["state"].GetStringValue() != "unheard of" || failures[0].GetRequestData().GetFields()["updatedAt"] != nil {
			t.Errorf("answered %v", got)
		}
		if bad.UpdatedAt == nil {
			t.Error("the item itself was changed")
		}
	})
}

// A single change and a batch with one item store and return the same.
func TestSingleAndBatchAgree(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, ctx := counter(t, d, func() {})
		one, err := s.UpsertReservation(ctx, &partnerv1.UpsertReservationRequest{Reservation: sent("A")})
		if err != nil {
			t.Fatal(err)
		}
		many, err := s.BatchUpsertReservations(ctx, &partnerv1.BatchUpsertReservationsRequest{Reservations: []*partnerv1.Reservation{sent("A")}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(one.GetData().String(), many.GetData().GetUpdatedReservations()[0].String()); diff != "" {
			t.Error(diff)
		}
		r := one.GetData()
		if r.GetFrom() != "2026-12-01T15:00:00+01:00" || r.GetTo() != "2026-12-02T11:00:00+01:00" || r.GetFromDate() != "2026-12-01" || r.GetHostelId() != "prp_1" {
			t.Errorf("answered %v", r)
		}
	})
}

// Masks belong to reservations by their position, so their number must be right.
func TestBatchRefusesAWrongNumberOfMasks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, ctx := counter(t, d, func() {})
		for masks, ok := range []bool{true, false, true, false} {
			req := &partnerv1.BatchUpsertReservationsRequest{Reservations: []*partnerv1.Reservation{sent("A"), sent("B")}}
			for range masks {
				req.UpdateMasks = append(req.UpdateMasks, &fieldmaskpb.FieldMask{})
			}
			_, err := s.BatchUpsertReservations(ctx, req)
			if f, _ := fault.Of(err); (err == nil) != ok || err != nil && (len(f.Fields) != 1 || f.Fields[0].Path != "updateMasks") {
				t.Errorf("%d masks of 2 reservations: %v", masks, err)
			}
		}
	})
}

// A mask in JSON works as in protobuf. Without one, the fields in the JSON are the mask.
func TestBatchMasksCountInJSON(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, ctx := counter(t, d, func() {})
		first := sent("A")
		first.Booker.FirstName, first.AdultCount = ptr("Ada"), ptr(int32(2))
		if _, err := s.UpsertReservation(ctx, &partnerv1.UpsertReservationRequest{Reservation: first}); err != nil {
			t.Fatal(err)
		}
		req, report := &partnerv1.BatchUpsertReservationsRequest{}, &jsonpb.Report{}
		jsonpb.Decode([]byte(`{"reservations": [
			{"pmsMeta": {"id": "A"}, "pmsNumber": "new", "state": "canceled", "booker": {"lastName": "Other"}},
			{"pmsMeta": {"id": "A"}, "adultCount": null}
		], "updateMasks": ["pmsNumber,booker.firstName", ""]}`), req.ProtoReflect(), report)
		out, err := s.batch(ctx, req, report)
		if err != nil || len(out.GetData().GetUpdatedReservations()) != 2 {
			t.Fatal(out, err)
		}
		r := out.GetData().GetUpdatedReservations()[1]
		if r.GetPmsNumber() != "new" || r.GetState() != "confirmed" || r.GetBooker().GetLastName() != "L" || r.GetBooker().FirstName != nil || r.AdultCount != nil {
			t.Errorf("answered %v", r)
		}
	})
}

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

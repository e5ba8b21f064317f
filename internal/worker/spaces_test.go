package worker

import (
	"context"
	"encoding/json"
	"testing"

	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/test/dbtest"
)

// directory is a registry with one endpoint.
type directory struct{}

func (directory) Endpoint(_ *db.Tx, propertyID, integrationID, action string) (partner.Endpoint, error) {
	if integrationID != "int_one" {
		return partner.Endpoint{}, fault.New(fault.NotFound, fault.EndpointNotFound, "no endpoint")
	}
	return partner.Endpoint{PropertyID: propertyID, IntegrationID: integrationID, Action: action}, nil
}

func (directory) SigningSecrets(*db.Tx, string, string) ([]string, error) {
	return []string{"whsec_x"}, nil
}

func insertProperty(t *testing.T, d *db.DB) {
	t.Helper()
	write(t, d, func(tx *db.Tx) error {
		if err := tx.Property.Create().SetID("prp_one").SetName("House").SetTimeZone("UTC").Exec(tx.Context()); err != nil {
			return err
		}
		if err := tx.Integration.Create().SetID("int_one").SetPropertyID("prp_one").SetName("PMS").SetScopes([]string{}).Exec(tx.Context()); err != nil {
			return err
		}
		return tx.Endpoint.Create().SetID("end_one").SetPropertyID("prp_one").SetIntegrationID("int_one").SetAction(partner.GetSpaces).
			SetURL("https://pms.example/").SetMethod("GET").SetSealedToken([]byte{}).SetTokenPlace("query").Exec(tx.Context())
	})
}

var listing = []space.Listed{{ExternalID: "r", Type: space.Room, Name: "101", IsActive: true}}

func TestReadSpaces(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		insertProperty(t, d)
		var failure error
		replanned := 0
		s := &Spaces{
			DB: d, Directory: directory{}, Log: quiet,
			Fetch: func(ctx context.Context, e partner.Endpoint, secrets []string, _ bool) ([]space.Listed, error) {
				// Inside an open transaction, this one would be refused or block forever.
				if err := d.Write(ctx, func(*db.Tx) error { return nil }); err != nil {
					t.Errorf("called within a transaction: %v", err)
				}
				return listing, failure
			},
			Replan: func(_ *db.Tx, _ string, touched space.AffectedStays) error {
				replanned += len(touched.Externals)
				return nil
			},
		}
		defer s.Close()
		if r, err := s.Read(t.Context(), "prp_one", "int_one"); err != nil || r.Failure != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		if replanned != 1 {
			t.Errorf("%d spaces planned again, want 1", replanned)
		}
		failure = fault.New(fault.Unavailable, "partnerUnavailable", "the partner's getSpaces did not answer in time")
		for i := range 4 {
			r, err := s.Read(t.Context(), "prp_one", "int_one")
			if err != nil || r.Failures != i+1 || !fault.Has(fault.Err(r.Failure), "partnerUnavailable") || r.Problem.Kind != "listing.failed" || r.Failure.Message != "the partner's getSpaces did not answer in time" {
				t.Errorf("failure %d: %+v, %v", i+1, r, err)
			}
		}
		failure = fault.New(fault.Unavailable, "partnerUnavailable", "paused").Put(checkin.MetaNotCalled, "true")
		if r, err := s.Read(t.Context(), "prp_one", "int_one"); err != nil || !fault.Has(fault.Err(r.Failure), "partnerUnavailable") {
			t.Errorf("not called: %+v, %v", r, err)
		}
		failing := d.View(t.Context()).Event.Query().Where(entevent.Kind(string(event.EndpointFailing))).CountX(t.Context())
		if e := d.View(t.Context()).Endpoint.Query().OnlyX(t.Context()); e.Failures != 4 || failing != 1 {
			t.Errorf("%d failures, %d events of it, want 4 and 1", e.Failures, failing)
		}
		if in := d.View(t.Context()).Integration.Query().OnlyX(t.Context()); in.SpacesFailures != 4 {
			t.Errorf("%d failures in a row, want the 4 calls that were made", in.SpacesFailures)
		}
		if n := d.View(t.Context()).PartnerSpace.Query().CountX(t.Context()); n != 1 {
			t.Errorf("%d spaces listed after failures, want the 1 there was", n)
		}
		if _, err := s.Read(t.Context(), "prp_one", "int_two"); !fault.Has(err, fault.EndpointNotFound) {
			t.Errorf("without an endpoint: %v", err)
		}
	})
}

// A listing that is suddenly empty is reported as a failure of the partner.
func TestAnEmptyListingIsAFailure(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	insertProperty(t, d)
	answers := [][]space.Listed{listing, {}}
	s := &Spaces{DB: d, Directory: directory{}, Log: quiet, Fetch: func(context.Context, partner.Endpoint, []string, bool) ([]space.Listed, error) {
		next := answers[0]
		answers = answers[1:]
		return next, nil
	}, Replan: func(*db.Tx, string, space.AffectedStays) error { return nil }}
	defer s.Close()
	for _, want := range []fault.Reason{"", fault.PartnerError} {
		r, err := s.Read(t.Context(), "prp_one", "int_one")
		if err != nil || want == "" && r.Failure != nil || want != "" && !fault.Has(fault.Err(r.Failure), want) {
			t.Errorf("%+v, %v; want %q", r, err, want)
		}
	}
}

// movedDirectory is a directory whose endpoint has the URL of the row in the database, as another node may have changed it.
type movedDirectory struct{ directory }

func (m movedDirectory) Endpoint(tx *db.Tx, propertyID, integrationID, action string) (partner.Endpoint, error) {
	e, err := m.directory.Endpoint(tx, propertyID, integrationID, action)
	if err != nil {
		return e, err
	}
	row, err := tx.Endpoint.Get(tx.Context(), "end_one")
	if err != nil {
		return e, err
	}
	e.URL = row.URL
	return e, nil
}

// If the partner registers another URL during the call, the answer of the former one is not stored: neither its spaces nor its failure
// belong to the new endpoint, which is read instead.
func TestAnswerOfTheFormerEndpointIsNotStored(t *testing.T) {
	for name, answer := range map[string]error{"listing": nil, "failure": fault.New(fault.Unavailable, "partnerUnavailable", "gone")} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				insertProperty(t, d)
				s := &Spaces{DB: d, Directory: movedDirectory{}, Log: quiet, Fetch: func(_ context.Context, e partner.Endpoint, _ []string, _ bool) ([]space.Listed, error) {
					if e.URL == "https://new.example/" {
						return []space.Listed{{ExternalID: "new", Type: space.Room, Name: "1", IsActive: true}}, nil
					}
					write(t, d, func(tx *db.Tx) error {
						return tx.Endpoint.UpdateOneID("end_one").SetURL("https://new.example/").Exec(tx.Context())
					})
					return listing, answer
				}}
				defer s.Close()
				if r, err := s.Read(t.Context(), "prp_one", "int_one"); err != nil || r.Failure != nil {
					t.Errorf("%+v, %v", r, err)
				}
				view := d.View(t.Context())
				if n := view.Endpoint.Query().OnlyX(t.Context()).Failures; n != 0 {
					t.Errorf("the new endpoint has %d failures, want none", n)
				}
				if all := view.PartnerSpace.Query().AllX(t.Context()); len(all) != 1 || all[0].ExternalID != "new" {
					t.Errorf("stored %v, want only the space of the new endpoint", all)
				}
			})
		})
	}
}

// ReadNow calls the partner even if a concurrent reading found the breaker open.
func TestReadNowCallsDespiteOpenBreaker(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	insertProperty(t, d)
	entered, answer := make(chan struct{}), make(chan struct{})
	s := &Spaces{DB: d, Directory: directory{}, Log: quiet, Fetch: func(_ context.Context, _ partner.Endpoint, _ []string, urgent bool) ([]space.Listed, error) {
		if urgent {
			return listing, nil
		}
		close(entered)
		<-answer
		return nil, fault.New(fault.Unavailable, fault.PartnerUnavailable, "paused").Put(checkin.MetaNotCalled, "true")
	}, Replan: func(*db.Tx, string, space.AffectedStays) error { return nil }}
	defer s.Close()
	if _, err := s.joinOrStart(t.Context(), space.Source{PropertyID: "prp_one", IntegrationID: "int_one"}, false); err != nil {
		t.Fatal(err)
	}
	<-entered
	close(answer)
	if r, err := s.ReadNow(t.Context(), "prp_one", "int_one"); err != nil || r.Failure != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestReadSpacesTogether(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	insertProperty(t, d)
	calls, entered, answer := 0, make(chan struct{}), make(chan struct{})
	s := &Spaces{DB: d, Directory: directory{}, Log: quiet, Fetch: func(context.Context, partner.Endpoint, []string, bool) ([]space.Listed, error) {
		calls++
		close(entered)
		<-answer
		return listing, nil
	}}
	defer s.Close()
	impatient, leave := context.WithCancel(t.Context())
	first, err := s.joinOrStart(impatient, space.Source{PropertyID: "prp_one", IntegrationID: "int_one"}, false)
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	second, err := s.joinOrStart(t.Context(), space.Source{PropertyID: "prp_one", IntegrationID: "int_one"}, true)
	if err != nil || second != first {
		t.Fatalf("a second reading of the same began: %v", err)
	}
	leave() // the first caller cancels; the other still gets its answer
	close(answer)
	<-second.done
	if second.err != nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, second.err)
	}
}

func TestReadSpacesStops(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	insertProperty(t, d)
	entered := make(chan struct{})
	s := &Spaces{DB: d, Directory: directory{}, Log: quiet, Fetch: func(ctx context.Context, _ partner.Endpoint, _ []string, _ bool) ([]space.Listed, error) {
		close(entered)
		<-ctx.Done()
		return nil, fault.New(fault.Canceled, fault.CanceledReason, "given up").With(ctx.Err())
	}}
	result := make(chan error, 1)
	go func() {
		_, err := s.Read(t.Context(), "prp_one", "int_one")
		result <- err
	}()
	<-entered
	s.Close()
	if err := <-result; !fault.Has(err, fault.UnavailableReason) {
		t.Errorf("stopped with %v", err)
	}
	if e := d.View(t.Context()).Endpoint.Query().OnlyX(t.Context()); e.Failures != 0 {
		t.Error("our own stop was held against the partner")
	}
	if _, err := s.Read(t.Context(), "prp_one", "int_one"); !fault.Has(err, fault.UnavailableReason) {
		t.Errorf("after Close: %v", err)
	}
}

func TestFailureForStaff(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"fault":         {fault.New(fault.Precondition, "partnerError", "status 500"), "status 500"},
		"with words":    {fault.New(fault.Precondition, "partnerError", "status 500").Put("partnerMessage", "no\nsuch token"), `status 500; "no\nsuch token"`},
		"driver's text": {&json.SyntaxError{}, "getSpaces could not be called"},
		"internal":      {fault.New(fault.Internal, fault.InternalError, "secret"), "getSpaces could not be called"},
		"deadline":      {context.DeadlineExceeded, "the partner did not answer in time"},
	}
	for name, tt := range tests {
		if got := failureForStaff(tt.err).Message; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// Package kiosk serves the API for check-in tablets.
package kiosk

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/kiosk"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
)

// Kiosks implements KioskService. All fields but Closed are required.
type Kiosks struct {
	kioskv1.UnimplementedKioskServiceServer
	DB      *db.DB
	Answers *idem.Answers
	Keys    *keyring.Ring
	// CheckIns finds stays.
	CheckIns *checkin.Service
	// Closed returns why check-in at a property is closed, or "" if it is open. If Closed is nil, check-in is always open.
	Closed func(view *db.Tx, propertyID string) (fault.Reason, error)
}

// callerKiosk returns the tablet that makes a call. It refuses all other callers.
func callerKiosk(ctx context.Context) (actor.Actor, error) {
	a, ok := actor.From(ctx)
	if !ok || a.Kind != actor.Kiosk || a.PropertyID == "" {
		return actor.Actor{}, credential.Refused()
	}
	return a, nil
}

// EnrolKiosk exchanges an enrolment code, which is then used up, for the tablet's token, and stores the tablet's public key.
func (s *Kiosks) EnrolKiosk(ctx context.Context, r *kioskv1.EnrolKioskRequest) (*kioskv1.EnrolKioskResponse, error) {
	out := &kioskv1.Enrolled{}
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		token, row, err := kiosk.Enrol(tx, s.Keys, r.GetCode(), r.GetPublicKey())
		if err != nil {
			return err
		}
		out.Token, out.KioskId = token, row.ID
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &kioskv1.EnrolKioskResponse{Data: out}, nil
}

// GetKiosk returns what the tablet's start page shows, with a challenge for FindStay, and records that the tablet called, unless a recent
// call is recorded.
func (s *Kiosks) GetKiosk(ctx context.Context, _ *kioskv1.GetKioskRequest) (*kioskv1.GetKioskResponse, error) {
	a, err := callerKiosk(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	row, err := kiosk.Get(view, a.PropertyID, a.ID)
	if err != nil {
		return nil, err
	}
	in, err := property.Get(view, a.PropertyID)
	if err != nil {
		return nil, err
	}
	settings, err := property.GetCheckInSettings(view, a.PropertyID)
	if err != nil {
		return nil, err
	}
	if kiosk.NeedsSeen(row, view.Now()) {
		if err := s.DB.Write(ctx, func(tx *db.Tx) error { return kiosk.MarkSeen(tx, row) }); err != nil {
			return nil, err
		}
	}
	out := &kioskv1.Kiosk{
		Id: row.ID, Name: row.Name, Property: convert.PropertyFace(in, settings, chain.Language(ctx, settings.Language)), Door: row.Door,
		Challenge: kiosk.NewChallenge(s.Keys, a.ID, view.Now()), Now: timestamppb.New(view.Now()),
	}
	if s.Closed != nil {
		reason, err := s.Closed(view, a.PropertyID)
		if err != nil {
			return nil, err
		}
		out.Closed = string(reason)
	}
	return &kioskv1.GetKioskResponse{Data: out}, nil
}

// FindStay finds the stay of a guest at the tablet by its number and the guest's family name, and opens a session, or returns choices if
// several stays match. It fails if none matches, which counts as a failed search. The tablet signs a challenge of GetKiosk, which works
// once, also for a search that finds nothing, so that a copied token alone is of no use. After too many failed searches, it refuses for
// some time.
func (s *Kiosks) FindStay(ctx context.Context, r *kioskv1.FindStayRequest) (*kioskv1.FindStayResponse, error) {
	a, err := callerKiosk(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	row, err := kiosk.Get(view, a.PropertyID, a.ID)
	if err != nil {
		return nil, err
	}
	search := guest.Search{
		PropertyID: a.PropertyID, Number: r.GetNumber(), FamilyName: r.GetFamilyName(), Choice: r.GetChoice(), KioskID: a.ID, Place: row.Name,
	}
	matches, err := search.Match(view, s.Keys)
	if err != nil {
		return nil, err
	}
	var found guest.Found
	var refused error
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		err := kiosk.UseProof(tx, s.Keys, a.PropertyID, a.ID, r.GetChallenge(), r.GetSignature())
		if err != nil {
			return err
		}
		found, refused, err = s.CheckIns.Find(tx, search, matches)
		return err
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return nil, err
	}
	return &kioskv1.FindStayResponse{Data: convert.FoundStay(found)}, nil
}

// RequestHelp notifies staff that a guest at the tablet needs help, at most once per tablet and minute of the clock. A further call in that
// minute succeeds without effect.
func (s *Kiosks) RequestHelp(ctx context.Context, _ *kioskv1.RequestHelpRequest) (*kioskv1.RequestHelpResponse, error) {
	a, err := callerKiosk(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*kioskv1.RequestHelpResponse, error) {
		row, err := kiosk.Get(tx, a.PropertyID, a.ID)
		if err != nil {
			return nil, err
		}
		return &kioskv1.RequestHelpResponse{}, notice.Add(tx, notice.Notice{
			PropertyID: a.PropertyID, Kind: notice.KioskHelp, Subject: a.ID, Params: message.Params{"kiosk": row.Name},
			// Presses within one minute of the clock make one notice.
			OnceKey: a.ID + "/help/" + tx.Now().UTC().Format("2006-01-02T15:04"),
		})
	})
}

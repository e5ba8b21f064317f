// Package guest serves the API for guests. It converts between protobuf and domain types. Guests have no accounts. A call about a stay
// carries a session token; any other call carries a proof of its own, such as a link or a signed token.
package guest

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/smartkey"
)

// SmartKeys implements SmartKeyService for gRPC, REST and Connect. All fields but OpenWithin are required.
type SmartKeys struct {
	guestv1.UnimplementedSmartKeyServiceServer
	DB   *db.DB
	Keys *keyring.Ring
	// Here is the server node that runs this service.
	Here lock.Node
	// Greeting asks a bridge for a greeting, the first message that a phone needs to use a SmartKey. node is the node with the bridge's
	// session; it is empty while the bridge reconnects, and Greeting then waits for it.
	Greeting func(ctx context.Context, propertyID, node, bridgeID string) ([]byte, error)
	// SendCommand sends a stored unlock command to the bridge and waits for the result. A fault as error means that the command was not sent
	// and never will be. After another error, it is not known whether the command was sent.
	SendCommand func(ctx context.Context, order lock.UnlockCommand) (lock.Outcome, error)
	// Unsent gets the error with which an unlock command was refused before it was stored. It counts the commands whose bridge cannot be
	// reached.
	Unsent func(error)
	// OpenWithin limits the time between the call and the opening of the door; 0, or a longer time, means lock.MaxDeadline.
	OpenWithin time.Duration
}

// GetEnrolment describes an enrolment link without using it up, because mail scanners open links. It fails for a link that is unknown, used
// up or expired.
func (s *SmartKeys) GetEnrolment(ctx context.Context, r *guestv1.GetEnrolmentRequest) (*guestv1.GetEnrolmentResponse, error) {
	l, err := mobilekey.DescribeLink(s.DB.View(ctx), s.Keys, r.GetLink())
	if err != nil {
		return nil, err
	}
	return &guestv1.GetEnrolmentResponse{
		PropertyId: l.PropertyID, PropertyName: l.PropertyName, Challenge: l.Challenge, ExpiresAt: timestamppb.New(l.Expires),
	}, nil
}

// Enrol uses up the enrolment link and stores the phone's key in one transaction. The answer has the phone's first SmartKey token, unless
// the stay gives no access to a door with a SmartKey now, such as more than a day before it begins, or after its end.
func (s *SmartKeys) Enrol(ctx context.Context, r *guestv1.EnrolRequest) (*guestv1.EnrolResponse, error) {
	answer := &guestv1.EnrolResponse{}
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		p, key, err := mobilekey.Enrol(tx, s.Keys, r.GetLink(), r.GetPossession(), r.GetName())
		if err != nil {
			return err
		}
		answer.PhoneId, answer.Key = p.ID, keyMessage(key)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// Challenge returns a random challenge that the phone signs to renew its token. The answer reveals nothing but the phone's
// property. It fails if no phone has the id.
func (s *SmartKeys) Challenge(ctx context.Context, r *guestv1.ChallengeRequest) (*guestv1.ChallengeResponse, error) {
	property, asked, err := mobilekey.NewRenewalChallenge(s.DB.View(ctx), s.Keys, r.GetPhoneId())
	if err != nil {
		return nil, err
	}
	return &guestv1.ChallengeResponse{PropertyId: property, Challenge: asked}, nil
}

// Renew returns the phone's next SmartKey token for a signed challenge. It fails if the phone was revoked or its stay has no access.
func (s *SmartKeys) Renew(ctx context.Context, r *guestv1.RenewRequest) (*guestv1.RenewResponse, error) {
	var key *mobilekey.Key
	err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		key, err = mobilekey.Renew(tx, s.Keys, r.GetPhoneId(), r.GetPossession())
		return err
	})
	if err != nil {
		return nil, err
	}
	return &guestv1.RenewResponse{Key: keyMessage(key)}, nil
}

// keyMessage converts a SmartKey token with the doors it opens. It returns nil for nil.
func keyMessage(k *mobilekey.Key) *guestv1.SmartKey {
	if k == nil {
		return nil
	}
	m := &guestv1.SmartKey{
		Token: k.Raw, NotBefore: timestamppb.New(k.NotBefore), ExpiresAt: timestamppb.New(k.Expires), RenewAfter: timestamppb.New(k.RenewAfter()),
	}
	for _, d := range k.Doors {
		m.Doors = append(m.Doors, &guestv1.Door{Door: d.ID[:], Name: d.Name, Kind: d.Kind, BridgeId: d.BridgeID})
	}
	return m
}

// Greet returns a bridge's greeting, the first message of the exchange in which a phone presents its SmartKey. The phone's token must give
// access to a lock of the bridge, but it may be revoked: Present refuses such a token. It fails if the bridge is offline.
func (s *SmartKeys) Greet(ctx context.Context, r *guestv1.GreetRequest) (*guestv1.GreetResponse, error) {
	view := s.DB.View(ctx)
	bearer, err := mobilekey.Identify(view, r.GetToken())
	if err != nil {
		return nil, err
	}
	lk, err := bearer.LockAt(view, smartkey.Door(r.GetDoor()))
	if err != nil {
		return nil, err
	}
	at, err := bridge.Locate(view, bearer.Property, lk.BridgeID, view.Now())
	if err != nil {
		return nil, err
	}
	if at.Node == "" && !at.Moving {
		return nil, lock.ErrBridgeOffline
	}
	greeting, err := s.Greeting(ctx, bearer.Property, at.Node, lk.BridgeID)
	if err != nil {
		return nil, err
	}
	return &guestv1.GreetResponse{Greeting: greeting}, nil
}

// Present sends a phone's presentation (SmartKey token and proof) to the bridge of the door and waits for the result. The server reads the
// proof only to find the bridge, and refuses a revoked token itself. The bridge verifies the presentation and decides whether to open the
// door. A refusal or a failed opening is an answer, not an error. So is the result unknown, after which the door may have opened. A
// presentation that cannot be read or sent is an error. After an error that is no [fault.Fault], it is not known whether it was sent.
func (s *SmartKeys) Present(ctx context.Context, r *guestv1.PresentRequest) (*guestv1.PresentResponse, error) {
	p, err := smartkey.DecodePresentation(r.GetPresentation())
	if err != nil {
		return nil, invalidSmartKey(err)
	}
	view := s.DB.View(ctx)
	bearer, err := mobilekey.Identify(view, p.Token)
	if err != nil {
		return nil, err
	}
	proof, err := smartkey.ReadProof(p.Proof)
	if err != nil {
		return nil, invalidSmartKey(err)
	}
	lk, err := bearer.LockAt(view, proof.Door)
	if err != nil {
		return nil, err
	}
	var command lock.UnlockCommand
	until := chain.ActionDeadline(ctx, cmp.Or(s.OpenWithin, lock.MaxDeadline))
	waiting, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	err = s.DB.Write(waiting, func(tx *db.Tx) (err error) {
		command, err = bearer.StoreCommand(tx, s.Here, lk, proof, r.GetPresentation(), until)
		return err
	})
	if errors.Is(err, mobilekey.ErrRevoked) {
		return &guestv1.PresentResponse{Reason: string(smartkey.Revoked), Result: "refused"}, nil
	}
	if err != nil {
		s.Unsent(err)
		return nil, lock.TooLateOnTimeout(err)
	}
	outcome, err := s.SendCommand(ctx, command)
	if err != nil {
		return nil, err
	}
	return presentResponse(command, outcome), nil
}

// invalidSmartKey returns the fault for a presentation that cannot be read.
func invalidSmartKey(err error) error {
	return fault.New(fault.Invalid, fault.SmartKeyRefused, "%s: see docs/smartkey.md for this reason", smartkey.ReasonOf(err)).With(err)
}

// presentResponse converts the outcome of the unlock command o to the answer of Present. If the lock failed, the reason is OK, because the
// key was accepted, and only the result says that the door did not open.
func presentResponse(o lock.UnlockCommand, done lock.Outcome) *guestv1.PresentResponse {
	reason, keyRefused := strings.CutPrefix(done.Result, lock.RefusedKeyPrefix)
	switch {
	case done.State == lock.CommandDone && o.Operation == lock.SmartKeyCheck:
		return &guestv1.PresentResponse{Reason: string(smartkey.OK), Result: "checked"}
	case done.State == lock.CommandDone:
		return &guestv1.PresentResponse{Reason: string(smartkey.OK), Result: "opened"}
	case keyRefused:
		return &guestv1.PresentResponse{Reason: reason, Result: "refused"}
	case done.State == lock.CommandFailed:
		return &guestv1.PresentResponse{Reason: string(smartkey.OK), Result: "failed"}
	case done.State == lock.CommandExpired:
		return &guestv1.PresentResponse{Result: "expired"}
	}
	return &guestv1.PresentResponse{Result: "unknown"}
}

// GetLists returns the issuer keys and the status list that are newer than those of the phone. Both are empty if there are no newer ones.
// The phone carries them to a bridge without internet connection.
func (s *SmartKeys) GetLists(ctx context.Context, r *guestv1.GetListsRequest) (*guestv1.GetListsResponse, error) {
	bearer, err := mobilekey.Identify(s.DB.View(ctx), r.GetToken())
	if err != nil {
		return nil, err
	}
	p, err := mobilekey.PublishedSince(s.DB.View(ctx), bearer.Property, r.GetKeySetVersion(), r.GetListNumber())
	if err != nil {
		return nil, err
	}
	return &guestv1.GetListsResponse{KeySets: p.KeySets, StatusList: p.List}, nil
}

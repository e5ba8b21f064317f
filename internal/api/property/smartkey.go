package property

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/mobilekey"
)

// smartKeys implements SmartKeyService, with which staff manage the phones of guests.
type smartKeys struct {
	propertyv1.UnimplementedSmartKeyServiceServer
	Deps
}

// NewSmartKeys creates the SmartKeyService for staff.
func NewSmartKeys(d Deps) propertyv1.SmartKeyServiceServer { return &smartKeys{Deps: d} }

// CreateSmartKeyLink creates a single-use link with which a phone gets the SmartKey of a reservation. Earlier links stay valid, and it
// fails if too many are unused. Without ttlMinutes it works for a day. The answer has the secret of the link, not an address.
func (s *smartKeys) CreateSmartKeyLink(ctx context.Context, r *propertyv1.CreateSmartKeyLinkRequest) (*propertyv1.CreateSmartKeyLinkResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.CreateSmartKeyLinkResponse, error) {
		l, err := mobilekey.CreateLink(tx, s.Keys, mobilekey.LinkSpec{
			PropertyID: propertyID, ReservationID: r.GetReservationId(), Lifetime: convert.Minutes(r.GetTtlMinutes()),
		})
		if err != nil {
			return nil, err
		}
		return &propertyv1.CreateSmartKeyLinkResponse{Link: l.Secret, ExpiresAt: timestamppb.New(l.Expires)}, nil
	})
}

// ListSmartKeyPhones lists all phones of a reservation, the oldest first, also revoked ones.
func (s *smartKeys) ListSmartKeyPhones(ctx context.Context, r *propertyv1.ListSmartKeyPhonesRequest) (*propertyv1.ListSmartKeyPhonesResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	rows, err := mobilekey.List(view, propertyID, r.GetReservationId())
	if err != nil {
		return nil, err
	}
	answer := &propertyv1.ListSmartKeyPhonesResponse{}
	for _, p := range rows {
		phone, err := s.phoneMessage(view, p)
		if err != nil {
			return nil, err
		}
		answer.Data = append(answer.Data, phone)
	}
	return answer, nil
}

// RevokeSmartKeyPhone revokes the SmartKey of a phone, such as a lost one. Doors refuse it once their bridges have the next status list. It
// does nothing if the phone is revoked.
func (s *smartKeys) RevokeSmartKeyPhone(ctx context.Context, r *propertyv1.RevokeSmartKeyPhoneRequest) (*propertyv1.RevokeSmartKeyPhoneResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RevokeSmartKeyPhoneResponse, error) {
		p, err := mobilekey.Revoke(tx, s.Keys, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		phone, err := s.phoneMessage(tx, p)
		return &propertyv1.RevokeSmartKeyPhoneResponse{Data: phone}, err
	})
}

// RestartDoor makes a door refuse all SmartKey tokens that were issued until now, once its bridge has the new status list.
func (s *smartKeys) RestartDoor(ctx context.Context, r *propertyv1.RestartDoorRequest) (*propertyv1.RestartDoorResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RestartDoorResponse, error) {
		generation, err := mobilekey.RestartDoor(tx, s.Keys, propertyID, r.GetLockId())
		return &propertyv1.RestartDoorResponse{Generation: generation}, err
	})
}

// SetDoorListAge sets how many minutes old a door's status list (of revoked SmartKeys) can be before the door refuses SmartKeys; 0 means
// the default.
func (s *smartKeys) SetDoorListAge(ctx context.Context, r *propertyv1.SetDoorListAgeRequest) (*propertyv1.SetDoorListAgeResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.SetDoorListAgeResponse, error) {
		err := mobilekey.SetListAge(tx, s.Keys, propertyID, r.GetLockId(), convert.Minutes(r.GetMaxAgeMinutes()))
		return &propertyv1.SetDoorListAgeResponse{MaxAgeMinutes: r.GetMaxAgeMinutes()}, err
	})
}

// RotateIssuerKey begins to replace the key that signs the property's SmartKey tokens; further steps follow later. It fails while another
// rotation runs. With atOnce it replaces the key itself, also during a rotation, and all tokens become invalid.
func (s *smartKeys) RotateIssuerKey(ctx context.Context, r *propertyv1.RotateIssuerKeyRequest) (*propertyv1.RotateIssuerKeyResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RotateIssuerKeyResponse, error) {
		done, err := mobilekey.Rotate(tx, s.Keys, propertyID, r.GetAtOnce())
		return &propertyv1.RotateIssuerKeyResponse{KeySetVersion: done.Version, CurrentKeyId: done.Current}, err
	})
}

// phoneMessage converts a phone with its decrypted name.
func (s *smartKeys) phoneMessage(view *db.Tx, p *mobilekey.Row) (*propertyv1.SmartKeyPhone, error) {
	name, err := mobilekey.Label(view, s.Keys, p)
	if err != nil {
		return nil, err
	}
	return &propertyv1.SmartKeyPhone{
		Id: p.ID, ReservationId: p.ReservationID, Name: name, TokenExpiresAt: convert.OptionalTime(p.TokenExpiresAt), RevokedAt: convert.OptionalTime(p.RevokedAt),
		CreatedAt: timestamppb.New(p.CreatedAt),
	}, nil
}

// removePhoneName removes what a guest calls a phone from the answer of RevokeSmartKeyPhone.
func removePhoneName(answer proto.Message) {
	if phone := answer.(*propertyv1.RevokeSmartKeyPhoneResponse).GetData(); phone != nil {
		phone.Name = ""
	}
}

// renderPhone is an idem.Renderer: it adds what a guest calls a phone to a repeated answer of RevokeSmartKeyPhone, unless the name was
// erased meanwhile.
func (s *smartKeys) renderPhone(ctx context.Context, answer proto.Message) error {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return err
	}
	phone, view := answer.(*propertyv1.RevokeSmartKeyPhoneResponse).GetData(), s.DB.View(ctx)
	p, err := mobilekey.Get(view, propertyID, phone.GetId())
	if fault.Has(err, fault.NotFoundReason) {
		return nil
	}
	if err == nil {
		phone.Name, err = mobilekey.Label(view, s.Keys, p)
	}
	return err
}

var _ idem.Renderer = (&smartKeys{}).renderPhone

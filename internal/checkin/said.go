package checkin

import (
	"context"
	"encoding/json"
	"fmt"

	"latchkey.dev/ent"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

// said is the text of a PMS's error. Only staff read it.
type said struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Limits of the PMS's texts, in bytes.
const (
	maxSaidReason  = 100
	maxSaidMessage = 500
)

func saidPurpose(reservationID string) string { return "checkIn.said/" + reservationID }

// sealSaid seals the text of an error of the PMS, because it may name the guest. Without a text it returns nil.
func (s *Service) sealSaid(ctx context.Context, k Key, failure error) ([]byte, error) {
	f, ok := fault.Of(failure)
	if !ok {
		return nil, nil
	}
	words := said{Reason: text.Truncate(f.Meta[MetaReason], maxSaidReason), Message: text.Truncate(f.Meta[MetaMessage], maxSaidMessage)}
	if words == (said{}) {
		return nil, nil
	}
	raw, err := json.Marshal(words)
	if err == nil {
		raw, err = s.Keys.Seal(ctx, k.PropertyID, saidPurpose(k.ReservationID), raw)
	}
	if err != nil {
		return nil, fmt.Errorf("seal the PMS's text about %s: %w", k.ReservationID, err)
	}
	return raw, nil
}

func (s *Service) openSaid(ctx context.Context, stay *ent.Stay, sealed []byte) (words said, err error) {
	if len(sealed) == 0 {
		return said{}, nil
	}
	raw, err := s.Keys.Open(ctx, stay.PropertyID, saidPurpose(stay.ReservationID), sealed)
	if err == nil {
		err = json.Unmarshal(raw, &words)
	}
	if err != nil {
		return said{}, fmt.Errorf("open the PMS's text about %s: %w", stay.ReservationID, err)
	}
	return words, nil
}

package checkin

import (
	"context"
	"encoding/json"
	"fmt"

	"latchkey.dev/ent"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

// errorText is the text of a PMS's error. Only staff read it.
type errorText struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Limits of the PMS's texts, in bytes. Longer ones are cut.
const (
	maxErrorReason  = 100
	maxErrorMessage = 500
)

// errorTextPurpose returns the purpose of [keyring.Ring.Seal] for the text of a PMS's error.
func errorTextPurpose(reservationID string) string { return "checkIn.errorText/" + reservationID }

// sealErrorText encrypts the PMS's text of an error, because it may name the guest. Without a text it returns nil.
func (s *Service) sealErrorText(ctx context.Context, k Key, failure error) ([]byte, error) {
	f, ok := fault.Of(failure)
	if !ok {
		return nil, nil
	}
	words := errorText{Reason: text.Truncate(f.Meta[MetaReason], maxErrorReason), Message: text.Truncate(f.Meta[MetaMessage], maxErrorMessage)}
	if words == (errorText{}) {
		return nil, nil
	}
	raw, err := json.Marshal(words)
	if err == nil {
		raw, err = s.Keys.Seal(ctx, k.PropertyID, errorTextPurpose(k.ReservationID), raw)
	}
	if err != nil {
		return nil, fmt.Errorf("seal the PMS's text about %s: %w", k.ReservationID, err)
	}
	return raw, nil
}

// openErrorText decrypts the text of a PMS's error. For an empty sealed it returns an empty text.
func (s *Service) openErrorText(ctx context.Context, stay *ent.Stay, sealed []byte) (words errorText, err error) {
	if len(sealed) == 0 {
		return errorText{}, nil
	}
	raw, err := s.Keys.Open(ctx, stay.PropertyID, errorTextPurpose(stay.ReservationID), sealed)
	if err == nil {
		err = json.Unmarshal(raw, &words)
	}
	if err != nil {
		return errorText{}, fmt.Errorf("open the PMS's text about %s: %w", stay.ReservationID, err)
	}
	return words, nil
}

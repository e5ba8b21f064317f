package guest

import (
	"net/url"

	"github.com/boombuler/barcode/qr"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/web/kit"
)

// qr returns the QR code of a door's page, for the guest's own phone. door is the part of the URL that names the door. It returns the zero
// code for "".
func (x *exchange) qr(door string) qrCode {
	if door == "" {
		return qrCode{}
	}
	return x.qrOf("/q/" + url.PathEscape(door))
}

// phoneQR returns the QR code with which the guest at a kiosk continues on a phone. It returns the zero code if the stay cannot be handed
// over, such as after a phone has opened it.
func (x *exchange) phoneQR() qrCode {
	made, err := x.site.api.Stays.HandOver(x.callContext(), &guestv1.HandOverRequest{})
	if err != nil {
		return qrCode{}
	}
	return x.qrOf("/g/l/" + url.PathEscape(made.GetLink()))
}

// qrOf returns the QR code with the complete URL of a path of this server.
func (x *exchange) qrOf(path string) qrCode { return kit.DrawQR(x.Address(path), qr.M, qr.Auto) }

package e2etest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// Tablet is an enrolled check-in tablet with its key. Door is the last part of the address in the QR code at the door.
type Tablet struct {
	ID, Token, Door string
	key             *ecdsa.PrivateKey
	server          grpc.ClientConnInterface
}

// EnrolTablet creates a kiosk and enrols a tablet for it.
func EnrolTablet(t testing.TB, w *World, name string) *Tablet {
	t.Helper()
	return EnrolTabletAt(t, w.Public, w.Staff(t.Context()), name)
}

// EnrolTabletAt is EnrolTablet for a server without a World. The context staff has the credentials of a staff member.
func EnrolTabletAt(t testing.TB, server grpc.ClientConnInterface, staff context.Context, name string) *Tablet {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	created, err := propertyv1.NewKioskServiceClient(server).CreateKiosk(staff, &propertyv1.CreateKioskRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	enrolled, err := kioskv1.NewKioskServiceClient(server).EnrolKiosk(t.Context(), &kioskv1.EnrolKioskRequest{Code: created.GetCode(), PublicKey: public})
	if err != nil {
		t.Fatal(err)
	}
	return &Tablet{enrolled.GetData().GetKioskId(), enrolled.GetData().GetToken(), created.GetData().GetDoor(), key, server}
}

// As returns ctx with the tablet's token, for gRPC calls.
func (k *Tablet) As(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+k.Token)
}

// Sign signs a challenge with the tablet's key. The signature is r and s of ECDSA, 32 bytes each.
func (k *Tablet) Sign(challenge string) ([]byte, error) {
	digest := sha256.Sum256([]byte(challenge))
	r, s, err := ecdsa.Sign(rand.Reader, k.key, digest[:])
	if err != nil {
		return nil, err
	}
	out := make([]byte, 64)
	r.FillBytes(out[:32])
	s.FillBytes(out[32:])
	return out, nil
}

// Find searches a stay on the tablet by its booking number and a family name. It returns the server's error if none is found.
func (k *Tablet) Find(ctx context.Context, number, familyName string) (*guestv1.Found, error) {
	api := kioskv1.NewKioskServiceClient(k.server)
	start, err := api.GetKiosk(k.As(ctx), &kioskv1.GetKioskRequest{})
	if err != nil {
		return nil, err
	}
	signature, err := k.Sign(start.GetData().GetChallenge())
	if err != nil {
		return nil, err
	}
	found, err := api.FindStay(k.As(ctx), &kioskv1.FindStayRequest{
		Number: number, FamilyName: familyName, Challenge: start.GetData().GetChallenge(), Signature: signature,
	})
	return found.GetData(), err
}

// GuestSession finds a stay on the tablet and returns the token of the guest's session. The test fails if there is no such stay.
func (k *Tablet) GuestSession(t testing.TB, number, familyName string) string {
	t.Helper()
	found, err := k.Find(t.Context(), number, familyName)
	if err != nil || found.GetSession().GetToken() == "" {
		t.Fatalf("find %s: %v, %v", number, found, err)
	}
	return found.GetSession().GetToken()
}

// AsGuest returns ctx with the token of a guest's session, for gRPC calls.
func AsGuest(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

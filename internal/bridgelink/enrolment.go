package bridgelink

import (
	"context"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/mobilekey"
)

// Enrolment implements EnrolmentService.
type Enrolment struct {
	lockv1.UnimplementedEnrolmentServiceServer
	DB   *db.DB
	Keys *keyring.Ring
	CA   *bridge.CA
	// Address returns the host:port of the listener for bridges, which is known once the server listens.
	Address func() string
}

// Enroll exchanges a join code, which works once, for a certificate. It creates the property's SmartKey issuer if there is none. The join
// code is the only credential of the caller. It returns the errors of [bridge.Enrol] unchanged: the server's interceptors convert faults to
// a gRPC status.
func (s *Enrolment) Enroll(ctx context.Context, r *lockv1.EnrollRequest) (*lockv1.EnrollResponse, error) {
	application := bridge.EnrolmentRequest{
		JoinCode: r.GetJoinCode(), CertificateRequest: r.GetCertificateRequest(), HPKEKey: r.GetHpkePublicKey(), Software: r.GetSoftware(),
	}
	var e *bridge.Enrolment
	var keys mobilekey.Published
	err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if e, err = bridge.Enrol(tx, s.Keys, s.CA, application, lock.MarkLinksLost); err != nil {
			return err
		}
		if err := mobilekey.EnsureIssuer(tx, s.Keys, e.Bridge.PropertyID); err != nil {
			return err
		}
		keys, err = mobilekey.PublishedSince(tx, e.Bridge.PropertyID, 0, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	answer := &lockv1.EnrollResponse{
		BridgeId: e.Bridge.ID, PropertyId: e.Bridge.PropertyID, Certificate: e.Certificate,
		CaCertificate: s.CA.Certificate(), ConnectAddress: s.Address(), ServerName: bridge.ServerName,
		SmartkeySite: mobilekey.Site(e.Bridge.PropertyID), SmartkeyStatusList: keys.List,
	}
	if len(keys.KeySets) > 0 {
		answer.SmartkeyKeySet = keys.KeySets[len(keys.KeySets)-1]
	}
	return answer, nil
}

package reservation

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"
	"latchkey.dev/ent"
	entact "latchkey.dev/ent/act"
	entarrival "latchkey.dev/ent/arrival"
	entevent "latchkey.dev/ent/event"
	entgrant "latchkey.dev/ent/grant"
	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	"latchkey.dev/ent/invitation"
	entkeystatus "latchkey.dev/ent/keystatus"
	entmail "latchkey.dev/ent/mail"
	entnotice "latchkey.dev/ent/notice"
	entphone "latchkey.dev/ent/phone"
	entphonelink "latchkey.dev/ent/phonelink"
	entpin "latchkey.dev/ent/pin"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/ent/reservationchange"
	entname "latchkey.dev/ent/reservationname"
	entslot "latchkey.dev/ent/slot"
	entstay "latchkey.dev/ent/stay"
	enttombstone "latchkey.dev/ent/tombstone"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/watch"
)

// tombstoneMAC returns the keyed hash of a PMS id, under which the tombstone of a removed reservation is stored. A
// tombstone shows that a later patch for this id is late, without storing the id itself.
func (svc Service) tombstoneMAC(s Scope, pmsID string) []byte {
	return svc.Keys.MAC("tombstone/"+s.PropertyID, s.IntegrationID, pmsID)
}

// deleteTombstone deletes the tombstone of a PMS id when the PMS uses the id for a new reservation.
func (svc Service) deleteTombstone(tx *db.Tx, s Scope, pmsID string) error {
	_, err := tx.Tombstone.Delete().Where(enttombstone.PropertyID(s.PropertyID), enttombstone.MAC(svc.tombstoneMAC(s, pmsID))).Exec(tx.Context())
	return err
}

// DeleteTombstones deletes up to limit tombstones that were created before a time, and returns their number.
func DeleteTombstones(tx *db.Tx, before time.Time, limit int) (int, error) {
	ids, err := tx.Tombstone.Query().Where(enttombstone.CreatedAtLT(before)).Limit(limit).IDs(tx.Context())
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return tx.Tombstone.Delete().Where(enttombstone.IDIn(ids...)).Exec(tx.Context())
}

// DueStay is a reservation whose retention period is over, so that Remove deletes it unless something blocks that.
type DueStay struct {
	ID, PropertyID string
	FromAt         time.Time
}

// DueStays lists up to limit reservations whose retention period is over: those of the period's property, or of all properties if it names
// none. They are ordered by start. after is the last result of the previous page, or nil for the first page. The caller omits a period with
// a Keep of 0, which means forever.
func (svc Service) DueStays(view *db.Tx, period Retention, after *DueStay, limit int) ([]DueStay, error) {
	over := view.Now().Add(-period.Keep)
	q := view.Reservation.Query().Where(entreservation.FromAtLTE(over), entreservation.ToAtLTE(over))
	if period.PropertyID != "" {
		q.Where(entreservation.PropertyID(period.PropertyID))
	}
	if after != nil {
		q.Where(entreservation.FromAtGTE(after.FromAt), entreservation.Or(entreservation.FromAtGT(after.FromAt), entreservation.IDGT(after.ID)))
	}
	rows, err := q.Order(entreservation.ByFromAt(), entreservation.ByID()).Limit(limit).
		Select(entreservation.FieldID, entreservation.FieldPropertyID, entreservation.FieldFromAt).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("find stays to remove: %w", err)
	}
	due := make([]DueStay, len(rows))
	for i, row := range rows {
		due[i] = DueStay{row.ID, row.PropertyID, row.FromAt}
	}
	return due, nil
}

// Retention is a retention period of reservations, after which Remove deletes them.
type Retention struct {
	PropertyID string        // PropertyID is empty for the period of the installation
	Keep       time.Duration // Keep is how long a reservation is kept after its end; 0: forever
}

// Retentions returns the retention period of the installation (0: forever), and one for each property that keeps reservations for a shorter
// time. The sweep of old reservations runs for each of them.
func (svc Service) Retentions(view *db.Tx) ([]Retention, error) {
	own, err := property.ListRetentions(view)
	if err != nil {
		return nil, err
	}
	list := []Retention{{Keep: svc.Keep}}
	for _, p := range own {
		if keep := keepFor(svc.Keep, p.KeepStayDays); keep != svc.Keep {
			list = append(list, Retention{p.PropertyID, keep})
		}
	}
	return list, nil
}

// keepOf returns how long a property keeps reservations after their end; 0: forever.
func (svc Service) keepOf(tx *db.Tx, propertyID string) (time.Duration, error) {
	settings, err := property.GetCheckInSettings(tx, propertyID)
	if err != nil {
		return 0, err
	}
	return keepFor(svc.Keep, settings.KeepStayDays), nil
}

// Remove deletes those reservations of a property whose retention period is over, and leaves a tombstone for each. It skips the others.
// blocked counts by reason the reservations that cannot be removed yet. A blocked reservation whose access has ended already loses its
// personal data, except what the guests entered while their forms are open. Staff are notified if it stays blocked and they must act.
func (svc Service) Remove(tx *db.Tx, propertyID string, ids []string) (removed int, blocked map[Block]int, err error) {
	rows, err := tx.Reservation.Query().Where(entreservation.PropertyID(propertyID), entreservation.IDIn(ids...)).All(tx.Context())
	if err != nil {
		return 0, nil, fmt.Errorf("load stays to remove: %w", err)
	}
	keep, err := svc.keepOf(tx, propertyID)
	if err != nil {
		return 0, nil, err
	}
	has, grants, err := loadRemains(tx, propertyID, ids)
	if err != nil {
		return 0, nil, err
	}
	blocked = map[Block]int{}
	var free []*ent.Reservation
	var freeGrants []string
	for _, row := range rows {
		if !retentionOver(row.ToAt, tx.Now(), keep) {
			continue // the PMS changed the end of the stay meanwhile, or the property its period, so that the period is not over
		}
		block := has[row.ID].blockedBy()
		if block == "" {
			free, freeGrants = append(free, row), append(freeGrants, grants[row.ID]...)
			continue
		}
		blocked[block]++
		if err := svc.handleBlocked(tx, row, has[row.ID], keep); err != nil {
			return 0, nil, err
		}
	}
	if len(free) == 0 {
		return 0, blocked, nil
	}
	return len(free), blocked, svc.removeAll(tx, propertyID, free, freeGrants)
}

// loadRemains returns, by reservation id, what still blocks the removal (no entry: nothing does), and the ids of the reservation's grants.
func loadRemains(tx *db.Tx, propertyID string, ids []string) (map[string]remains, map[string][]string, error) {
	ctx, has, grants := tx.Context(), map[string]remains{}, map[string][]string{}
	set := func(reservationID string, change func(r *remains)) {
		r := has[reservationID]
		change(&r)
		has[reservationID] = r
	}
	rows, err := tx.Grant.Query().Where(entgrant.PropertyID(propertyID), entgrant.ReservationIDIn(ids...)).All(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("load the access of stays to remove: %w", err)
	}
	stayOf := map[string]string{} // stayOf has the reservation of each grant and of each subject of events
	var grantIDs, subjects []string
	for _, g := range rows {
		stayOf[g.ID], grantIDs = g.ReservationID, append(grantIDs, g.ID)
		grants[g.ReservationID] = append(grants[g.ReservationID], g.ID)
		if g.EndedAt == nil {
			set(g.ReservationID, func(r *remains) { r.openAccess = true })
		}
	}
	for _, id := range ids {
		stayOf[id], stayOf[event.InternalSubject(id)] = id, id
		subjects = append(subjects, id, event.InternalSubject(id))
	}
	recent := entevent.CreatedAtGT(tx.Now().Add(-recentEvents))
	setRecent := func(r *remains) { r.recentEvent = true }
	for _, q := range []struct {
		find interface {
			Strings(ctx context.Context) ([]string, error)
		}
		set func(r *remains)
	}{
		{tx.Slot.Query().Where(entslot.PropertyID(propertyID), entslot.GrantIDIn(grantIDs...), lock.HasGrant()).
			Select(entslot.FieldGrantID), func(r *remains) { r.codeOnLock = true }},
		{tx.KeyStatus.Query().Where(entkeystatus.PropertyID(propertyID), entkeystatus.GrantIDIn(grantIDs...)).
			Select(entkeystatus.FieldGrantID), func(r *remains) { r.smartKey = true }},
		{tx.Guest.Query().Where(entguest.PropertyID(propertyID), entguest.ReservationIDIn(ids...), entguest.LawNEQ(""), entguest.EraseAtIsNil()).
			Select(entguest.FieldReservationID), func(r *remains) { r.openForms = true }},
		{tx.Event.Query().Where(entevent.PropertyID(propertyID), entevent.SubjectIn(subjects...), recent).Select(entevent.FieldSubject), setRecent},
		{tx.Event.Query().Where(entevent.PropertyID(propertyID), entevent.GrantIDIn(grantIDs...), recent).Select(entevent.FieldGrantID), setRecent},
	} {
		found, err := q.find.Strings(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("load what stays to remove still have: %w", err)
		}
		for _, id := range found {
			set(stayOf[id], q.set)
		}
	}
	return has, grants, nil
}

// blockNotices are the notices for reasons that block a removal until a person acts.
var blockNotices = map[Block]notice.Kind{BlockedByAccess: notice.RetentionBlockedByAccess, BlockedByLock: notice.RetentionBlockedByLock}

// handleBlocked erases the personal data of a reservation that cannot be removed yet, if its access has ended. What the guests entered is
// erased only once their forms are in the guest register. If the reservation is still blocked blockNotice after its retention period keep,
// it notifies staff, but only if a person must act: see blockNotices.
func (svc Service) handleBlocked(tx *db.Tx, row *ent.Reservation, has remains, keep time.Duration) error {
	block := has.blockedBy()
	if !has.openAccess {
		if err := svc.EraseBooker(tx, row); err != nil {
			return err
		}
		if !has.openForms {
			if err := eraseBlocked(tx, row); err != nil {
				return err
			}
		}
	}
	if !retentionOver(row.ToAt, tx.Now(), keep+blockNotice) {
		return nil
	}
	if err := resolveBlockNotices(tx, row.PropertyID, row.ID, block); err != nil {
		return err
	}
	kind := blockNotices[block]
	if kind == "" {
		return nil
	}
	return notice.Add(tx, notice.Notice{PropertyID: row.PropertyID, Kind: kind, Subject: row.ID, OnceKey: kind.Key(row.ID)})
}

// eraseBlocked erases what the guests of a reservation entered. If there was any, it also erases the notices about the reservation: see
// [EraseNotices].
func eraseBlocked(tx *db.Tx, row *ent.Reservation) error {
	n, err := EraseGuests(tx, row.PropertyID, row.ID)
	if err != nil || n == 0 {
		return err
	}
	if err := EraseNotices(tx, row.PropertyID, row.ID); err != nil {
		return err
	}
	notifyErased(tx, row.PropertyID, row.ID)
	return nil
}

// EraseGuests deletes the guests of reservations with what they entered, what the check-in stored, and their mails, links and sessions:
// their devices lose the stay. It returns the number of these rows. Messages, and records of data given to the PMS, are deleted with their
// guest and not counted. Invitations forget the address. Entries of the guest register remain.
func EraseGuests(tx *db.Tx, propertyID string, ids ...string) (n int, err error) {
	for _, rows := range []interface {
		Exec(ctx context.Context) (int, error)
	}{
		tx.Mail.Delete().Where(entmail.PropertyID(propertyID), entmail.ReservationIDIn(ids...)),
		tx.Guest.Delete().Where(entguest.PropertyID(propertyID), entguest.ReservationIDIn(ids...)),
		tx.Stay.Delete().Where(entstay.PropertyID(propertyID), entstay.ReservationIDIn(ids...)),
		tx.GuestLink.Delete().Where(guestlink.PropertyID(propertyID), guestlink.ReservationIDIn(ids...)),
		tx.GuestSession.Delete().Where(guestsession.PropertyID(propertyID), guestsession.ReservationIDIn(ids...)),
	} {
		deleted, err := rows.Exec(tx.Context())
		if err != nil {
			return 0, fmt.Errorf("erase what guests left: %w", err)
		}
		n += deleted
	}
	err = tx.Invitation.Update().Where(invitation.PropertyID(propertyID), invitation.ReservationIDIn(ids...)).ClearAddressMAC().Exec(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("erase the address of an invitation: %w", err)
	}
	return n, nil
}

// notifyErased notifies the streams that show reservations, their messages and their notices.
func notifyErased(tx *db.Tx, propertyID string, ids ...string) {
	watch.Notify(tx, propertyID, watch.Reservations, ids...)
	watch.Notify(tx, propertyID, watch.Messages)
	watch.Notify(tx, propertyID, watch.Notices)
}

// resolveBlockNotices resolves the notices that a reservation cannot be removed, except the notice for the reason
// present.
func resolveBlockNotices(tx *db.Tx, propertyID, reservationID string, present Block) error {
	for block, kind := range blockNotices {
		if block == present {
			continue
		}
		if err := notice.Resolve(tx, propertyID, kind.Key(reservationID)); err != nil {
			return err
		}
	}
	return nil
}

// EraseBooker clears the personal data of a reservation: the booker, the name index, the companions and the names of phones. It records a
// change of the reservation. If the data are erased already, it clears only the names of phones that joined since. Later changes by the PMS
// do not restore the data, unless they describe a new stay under the same id. row keeps the former values.
func (svc Service) EraseBooker(tx *db.Tx, row *ent.Reservation) error {
	if err := mobilekey.EraseNames(tx, row.PropertyID, row.ID); err != nil {
		return err
	}
	if row.ErasedAt != nil {
		return nil
	}
	sealed, err := svc.sealBooker(tx.Context(), row.PropertyID, row.ID, Booker{})
	if err != nil {
		return err
	}
	_, err = tx.ReservationName.Delete().Where(entname.PropertyID(row.PropertyID), entname.ReservationID(row.ID)).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("remove names of %s from the index: %w", row.ID, err)
	}
	erased := *row
	erased.UpdatedAt = tx.Now()
	err = tx.Reservation.Update().Where(entreservation.PropertyID(row.PropertyID), entreservation.ID(row.ID)).
		SetBooker(sealed).ClearPmsCompanionIds().SetErasedAt(tx.Now()).SetUpdatedAt(erased.UpdatedAt).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("erase the booker of %s: %w", row.ID, err)
	}
	return appendChange(tx, &erased)
}

// inGrantIndex repeats the condition of the partial index of unlock commands by grant. Neither database would use the index if the
// condition were a parameter.
func inGrantIndex(s *sql.Selector) { s.Where(sql.ExprP("grant_id <> ''")) }

// removeAll deletes reservations with all that belongs to them, also their events and notices, stores a tombstone for each, and notifies
// the streams that show them. The caller made sure that no lock holds a code of their grants, and that the list of revoked SmartKeys needs
// none of their numbers.
func (svc Service) removeAll(tx *db.Tx, propertyID string, rows []*ent.Reservation, grantIDs []string) error {
	ctx := tx.Context()
	tombstones := make([]*ent.TombstoneCreate, len(rows))
	var ids, subjects []string
	var changed []time.Time
	for i, row := range rows {
		at := row.UpdatedAt
		if row.PmsUpdatedAt != nil {
			at = *row.PmsUpdatedAt
		}
		mac := svc.tombstoneMAC(Scope{PropertyID: propertyID, IntegrationID: row.IntegrationID}, row.PmsID)
		tombstones[i] = tx.Tombstone.Create().SetPropertyID(propertyID).SetMAC(mac).SetPmsUpdatedAt(at).SetCreatedAt(tx.Now())
		ids, changed = append(ids, row.ID), append(changed, row.UpdatedAt)
		subjects = append(subjects, row.ID, event.InternalSubject(row.ID))
	}
	notifyErased(tx, propertyID, ids...)
	if _, err := EraseGuests(tx, propertyID, ids...); err != nil {
		return err
	}
	if err := event.Delete(tx, propertyID, subjects, grantIDs); err != nil {
		return err
	}
	err := tx.Slot.Update().Where(entslot.PropertyID(propertyID), entslot.GrantIDIn(grantIDs...)).SetGrantID("").SetPinID("").Exec(ctx)
	if err != nil {
		return fmt.Errorf("forget the grants of free slots: %w", err)
	}
	for _, rows := range []interface {
		Exec(ctx context.Context) (int, error)
	}{
		tx.Pin.Delete().Where(entpin.PropertyID(propertyID), entpin.GrantIDIn(grantIDs...)),
		tx.Act.Delete().Where(entact.PropertyID(propertyID), entact.GrantIDIn(grantIDs...), predicate.Act(inGrantIndex)),
		tx.Phone.Delete().Where(entphone.PropertyID(propertyID), entphone.ReservationIDIn(ids...)),
		tx.PhoneLink.Delete().Where(entphonelink.PropertyID(propertyID), entphonelink.ReservationIDIn(ids...)),
		tx.Grant.Delete().Where(entgrant.PropertyID(propertyID), entgrant.ReservationIDIn(ids...)),
		tx.Notice.Delete().Where(entnotice.PropertyID(propertyID), entnotice.SubjectIn(ids...)),
		tx.Arrival.Delete().Where(entarrival.PropertyID(propertyID), entarrival.IDIn(ids...)),
		tx.ReservationChange.Delete().Where(reservationchange.PropertyID(propertyID), reservationchange.ChangedAtIn(changed...), reservationchange.ReservationIDIn(ids...)),
		tx.ReservationName.Delete().Where(entname.PropertyID(propertyID), entname.ReservationIDIn(ids...)),
		tx.Reservation.Delete().Where(entreservation.PropertyID(propertyID), entreservation.IDIn(ids...)),
	} {
		if _, err := rows.Exec(ctx); err != nil {
			return fmt.Errorf("remove stays: %w", err)
		}
	}
	if err := tx.Tombstone.CreateBulk(tombstones...).Exec(ctx); err != nil {
		return fmt.Errorf("store tombstones: %w", err)
	}
	return nil
}

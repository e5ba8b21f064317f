package staff

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/formerperson"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// The name of a person who was removed from a property stays readable where the person is recorded as author: in the audit log, in messages
// and in changes of the mapping. It is sealed with the property's key, and deleted together with the audit log of that time.

// formerPurpose returns the purpose with which the name of a removed person is sealed.
func formerPurpose(personID string) string { return "formerPerson/" + personID }

// storeFormerName stores the name of a person who is removed from a property, in place of one from an earlier removal.
func storeFormerName(tx *db.Tx, keys *keyring.Ring, propertyID string, who *ent.Person) error {
	profile, err := profileOf(tx.Context(), keys, who)
	if err != nil {
		return err
	}
	sealed, err := keys.Seal(tx.Context(), propertyID, formerPurpose(who.ID), []byte(profile.Name))
	if err != nil {
		return err
	}
	if _, err := tx.FormerPerson.Delete().Where(formerperson.PropertyID(propertyID), formerperson.PersonID(who.ID)).Exec(tx.Context()); err != nil {
		return fmt.Errorf("replace the name of a former person: %w", err)
	}
	err = tx.FormerPerson.Create().SetID(id.New(id.Person)).SetPropertyID(propertyID).SetPersonID(who.ID).SetName(sealed).SetCreatedAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store the name of a former person: %w", err)
	}
	return nil
}

// addFormerNames adds to the map names the names of people who were removed from a property. ids are ids of people, and the keys of names
// are authors such as "staff:prs_...". It keeps the entries that names already has. A person without a stored name gets none.
func addFormerNames(view *db.Tx, keys *keyring.Ring, propertyID string, ids []string, names map[string]string) error {
	var missing []string
	for _, personID := range ids {
		if _, ok := names[author(personID)]; !ok {
			missing = append(missing, personID)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rows, err := view.FormerPerson.Query().Where(formerperson.PropertyID(propertyID), formerperson.PersonIDIn(missing...)).All(view.Context())
	if err != nil {
		return fmt.Errorf("load the names of former people: %w", err)
	}
	for _, row := range rows {
		name, err := keys.Open(view.Context(), propertyID, formerPurpose(row.PersonID), row.Name)
		if err != nil {
			return err
		}
		names[author(row.PersonID)] = string(name)
	}
	return nil
}

// DeleteFormer deletes the names of people who were removed from any property before a time, at most limit, and returns their number.
func DeleteFormer(tx *db.Tx, before time.Time, limit int) (int, error) {
	ids, err := tx.FormerPerson.Query().Where(formerperson.CreatedAtLT(before)).Limit(limit).IDs(tx.Context())
	if err == nil {
		_, err = tx.FormerPerson.Delete().Where(formerperson.IDIn(ids...)).Exec(tx.Context())
	}
	if err != nil {
		return 0, fmt.Errorf("delete the names of former people: %w", err)
	}
	return len(ids), nil
}

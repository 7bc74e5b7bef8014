package actions

import (
	"errors"
	"fmt"
)

func (j jobDocument) unserved() error {
	switch {
	case j.Uses != "":
		return fmt.Errorf("uses: %s: reusable workflows are not served here", j.Uses)
	case !j.Container.IsZero():
		return errors.New("container: jobs run on this machine, containers are not served here")
	case !j.Services.IsZero():
		return errors.New("services: jobs run on this machine, containers are not served here")
	}
	return nil
}

func checkSteps(steps []Step) error {
	ids := map[string]bool{}
	var errs []error
	for i, s := range steps {
		err := checkStep(s)
		if s.ID != "" && ids[s.ID] {
			err = errors.Join(err, fmt.Errorf("another step has the id %q, too", s.ID))
		}
		ids[s.ID] = true
		if err != nil {
			errs = append(errs, fmt.Errorf("step %d: %w", i+1, err))
		}
	}
	return errors.Join(errs...)
}

func checkStep(s Step) error {
	switch {
	case s.Run != "" && s.Uses != "":
		return errors.New("has both run and uses")
	case s.Run == "" && s.Uses == "":
		return errors.New("has neither run nor uses")
	case s.Uses != "" && !isAction(s.Uses, checkoutAction) && !isAction(s.Uses, ownAction):
		return fmt.Errorf("uses: %s is not served here: the only actions are %s and %s; do the rest with run", s.Uses, checkoutAction, ownAction)
	}
	return nil
}

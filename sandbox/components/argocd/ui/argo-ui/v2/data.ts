import * as React from 'react';

interface Load<T> {
    data: T;
    pending: boolean;
    failed: boolean;
}

// useData returns what load has brought, whether it is still under way, and
// whether it failed with a way to try again. It loads at first and whenever one
// of the values in on changes. An answer that comes after the next load has
// begun, or after the component has gone, is dropped.
export function useData<T>(load: () => Promise<T>, before?: T, done: (data: T) => void = () => undefined, on: unknown[] = []) {
    const [now, show] = React.useState<Load<T>>({data: before, pending: true, failed: false});
    const [tries, setTries] = React.useState(0);
    React.useEffect(() => {
        let wanted = true;
        const answer = (part: Partial<Load<T>>) => wanted && show(last => ({...last, pending: false, ...part}));
        show(last => ({...last, pending: true, failed: false}));
        load().then(
            data => {
                answer({data});
                if (wanted) {
                    done(data);
                }
            },
            () => answer({failed: true})
        );
        return () => {
            wanted = false;
        };
    }, on.concat(tries));
    const again = () => setTries(n => n + 1);
    return [now.data, now.pending, {state: now.failed, retry: again}] as const;
}

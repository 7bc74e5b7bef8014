import * as React from 'react';

// The keys by the names that browsers give them.
export enum Key {
    ENTER = 'Enter',
    ESCAPE = 'Escape',
    LEFT = 'ArrowLeft',
    UP = 'ArrowUp',
    RIGHT = 'ArrowRight',
    DOWN = 'ArrowDown',
    SLASH = '/'
}

export enum NumKey {
    ZERO = '0',
    ONE = '1',
    TWO = '2',
    THREE = '3',
    FOUR = '4',
    FIVE = '5',
    SIX = '6',
    SEVEN = '7',
    EIGHT = '8',
    NINE = '9'
}

// Browsers call a digit the same on both parts of the keyboard.
export const NumPadKey = NumKey;
export type NumPadKey = NumKey;

export const NumKeyToNumber = (digit: string) => Number(digit);

interface Binding {
    keys: string | string[];
    // action tells whether it did something, which keeps the key from others
    action: (key?: any) => boolean;
}

interface Bindings {
    useKeybinding: (binding: Binding) => void;
}

export const KeybindingContext = React.createContext<Bindings>({useKeybinding: () => undefined});

// KeybindingProvider takes the keys that are pressed on the page itself for
// the bindings of what is in it. A key that is pressed in a field is the
// field's, except for the one that leaves it.
export const KeybindingProvider = (props: {children?: React.ReactNode}) => {
    const held = React.useRef<React.MutableRefObject<Binding>[]>([]);
    const bindings = React.useRef<Bindings>({
        useKeybinding: binding => {
            const newest = React.useRef(binding);
            newest.current = binding;
            React.useEffect(() => {
                held.current.push(newest);
                return () => {
                    held.current = held.current.filter(b => b !== newest);
                };
            }, []);
        }
    });
    React.useEffect(() => {
        const pressed = (e: KeyboardEvent) => {
            const shortcut = e.ctrlKey || e.metaKey || e.altKey;
            if (shortcut || (e.target !== document.body && e.key !== Key.ESCAPE)) {
                return;
            }
            const taken = held.current.some(({current: b}) => [].concat(b.keys).includes(e.key) && b.action(e.key));
            if (taken) {
                e.preventDefault();
            }
        };
        document.addEventListener('keydown', pressed);
        return () => document.removeEventListener('keydown', pressed);
    }, []);
    return <KeybindingContext.Provider value={bindings.current}>{props.children}</KeybindingContext.Provider>;
};

const nowhere = -1;

// useNav holds a place among count things: where it is, how to move it by a
// number of places, which is refused beyond either end, and how to leave.
export function useNav(count: number) {
    const [place, go] = React.useState(nowhere);
    const move = (by: number) => {
        const to = place + by;
        const there = to > nowhere && to < count;
        if (there) {
            go(to);
        }
        return there;
    };
    return [place, move, () => go(nowhere)] as const;
}

import {formatDistanceToNow} from 'date-fns';
import * as React from 'react';
import {Autocomplete as Suggestions} from '../src/components/autocomplete/autocomplete';
import {Tooltip as Tip} from '../src/components/tooltip/tooltip';

export const ago = (date: Date) => formatDistanceToNow(date, {addSuffix: true});

// Tooltip needs an element to hang from. There is one look of it, so inverted
// is not passed on.
export const Tooltip = (props: {content: React.ReactNode; inverted?: boolean; children?: React.ReactNode}) => (
    <Tip content={props.content}>{React.isValidElement(props.children) ? props.children : <span>{props.children}</span>}</Tip>
);

// The pages show boxes on the sidebar's dark ground, where the browser's own
// would glare; it lies above this one, unseen.
const box: React.CSSProperties = {
    position: 'relative',
    flex: 'none',
    width: 16,
    height: 16,
    border: '1px solid #6d7f8b',
    borderRadius: 3,
    color: 'white',
    fontSize: 11,
    lineHeight: '14px',
    textAlign: 'center'
};
const overBox: React.CSSProperties = {position: 'absolute', top: -1, left: -1, width: 16, height: 16, margin: 0, opacity: 0, cursor: 'pointer'};

// Checkbox tells of every change of its value, also of one that came from
// outside: a row that is clicked beside its box changes the value, and leaves
// it to the box to tell.
export const Checkbox = (props: {value?: boolean; onChange?: (value: boolean) => void; style?: React.CSSProperties}) => {
    const value = !!props.value;
    const told = React.useRef(value);
    const tell = (changed: boolean) => {
        if (changed !== told.current) {
            told.current = changed;
            props.onChange?.(changed);
        }
    };
    React.useEffect(() => tell(value), [value]);
    return (
        <span style={{...box, background: value ? '#00a2b3' : 'transparent', ...props.style}} onClick={e => e.stopPropagation()}>
            {value && <i className='fas fa-check' />}
            <input type='checkbox' style={overBox} checked={value} onChange={e => tell(e.target.checked)} />
        </span>
    );
};

// ActionButton is a small round button with an icon.
export const ActionButton = (props: {icon?: string; label?: string; tooltip?: React.ReactNode; disabled?: boolean; action?: (e: React.MouseEvent) => void; style?: React.CSSProperties}) => {
    const style = {minWidth: 0, width: props.label ? undefined : '2.5em', padding: 0, margin: '0 2px', ...props.style};
    const pressed = (
        <button className='argo-button argo-button--base argo-button--sm' style={style} disabled={props.disabled} onClick={props.action}>
            {props.icon && <i className={`fa ${props.icon}`} />}
            {props.label}
        </button>
    );
    return props.tooltip ? Tip({content: props.tooltip, children: pressed}) : pressed;
};

interface AutocompleteProps {
    items?: string[];
    // abbreviations are other names by which items are found
    abbreviations?: Map<string, string>;
    value: string;
    onChange: (e: {target: {value: string}}) => void;
    // onItemClick gets the item that was chosen, or nothing when what was
    // typed is meant as it is
    onItemClick: (item: string) => void;
    placeholder?: string;
    style?: React.CSSProperties;
    inputStyle?: React.CSSProperties;
}

// Autocomplete suggests the items that have in them what was typed. Return
// means what was typed, unless an arrow key has gone to one of the items.
export const Autocomplete = (props: AutocompleteProps) => {
    const walking = React.useRef(false);
    const typed = (props.value || '').toLowerCase();
    const fits = (item: string) => [item, props.abbreviations?.get(item)].some(name => name?.toLowerCase().includes(typed));
    const field = ({onKeyDown, ...rest}: any) => {
        const pressed = (e: React.KeyboardEvent) => {
            if (e.key === 'Enter' && typed && !walking.current) {
                props.onItemClick('');
                return;
            }
            walking.current = e.key.startsWith('Arrow');
            onKeyDown(e);
        };
        return <input {...rest} className='argo-field' placeholder={props.placeholder} style={{padding: '8px', borderRadius: 3, ...props.inputStyle}} onKeyDown={pressed} />;
    };
    return (
        <div style={props.style}>
            <Suggestions
                items={(props.items || []).filter(fits)}
                value={props.value || ''}
                onChange={props.onChange}
                onSelect={props.onItemClick}
                renderInput={field}
                wrapperProps={{style: {display: 'block'}}}
            />
        </div>
    );
};

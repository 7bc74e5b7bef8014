// The names that Argo CD's pages take from 'argo-ui/v2', a folder that the
// argo-ui of the npm registry does not have. They are written for what the
// pages do with them, on top of the components that it does have.
export {useData} from './data';
export {Key, KeybindingContext, KeybindingProvider, NumKey, NumKeyToNumber, NumPadKey, useNav} from './keys';
export {ActionButton, ago, Autocomplete, Checkbox, Tooltip} from './widgets';

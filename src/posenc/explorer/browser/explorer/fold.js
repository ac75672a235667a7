// Heights of pictures: the whole of one is seen without scrolling, in a window of 720 pixels too.

/** Pixels of the page above and around a picture, its axes and its legend. */
const AROUND = 430;

/** A picture's usual height, or less where the window is low. */
export function fitting(usual) {
  return Math.max(220, Math.min(usual, innerHeight - AROUND));
}

// cspell:disable -- characters one by one
/**
 * Characters beyond ASCII that a page shows without their code points: letters and signs of European languages, which
 * every font of every system has (most of WGL4), and of which no two look alike. All others may be missing in a font,
 * and two that are missing are drawn as the same box.
 */
const LATIN = String.raw`\u00c0-\u00cf\u00d1-\u00d6\u00d8-\u00dd\u00df-\u0113\u0116-\u012b\u012e-\u0130\u0134-\u0137\u0139-\u013e\u0141-\u0148\u014a-\u0161\u0164-\u017e\u01a0\u01a1\u01af\u01b0\u0218-\u021b\u1ea0-\u1ef9`;
const GREEK = String.raw`\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03ce`;
const CYRILLIC = String.raw`\u0400-\u045f\u0490\u0491`;
const SIGNS = '¡¢£¥§©«®°±²³µ¶»¼½¾¿×÷–—‘’“”„†‡•…‰€™←↑→↓≠≤≥≈√';
const COMMON = new RegExp(`^[${LATIN}${GREEK}${CYRILLIC}${SIGNS}]*$`, 'u');

/**
 * Signs and letters of everyday writing that look like ASCII, or like another of these: they are underlined quietly, so
 * that prose stays readable, and are told apart from what they look like by that.
 */
const EVERYDAY = /^[¡×–‘’“”…¼½¾ÆæŒœÞþȘș]$/u;

/** Whether every character of a text is drawn by any font. */
export const isCommon = (text: string): boolean => COMMON.test(text);
export const isEveryday = (character: string): boolean => EVERYDAY.test(character);

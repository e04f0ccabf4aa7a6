#!/usr/bin/env bash
# Guess: the phrases of OpenCC (s2twp, tw2sp) put the words of Taiwan for those of the mainland in texts about
# computers, and leave words alone that are the same in law, history or daily life.
# Behaviour: OpenCC of Debian 12 (package 1.1.6, which calls itself 1.1.5) looks for the longest phrase of its lists at
# each place, whatever is said around it. With s2twp legal proceedings become a legal program, the course of history and
# of peace a process of an operating system, the partner of a marriage an object, a blood type a data type, and a
# document with a red head (of a government) a header file. With tw2sp calling the police is invoking it, the law of
# archives a law of files, three digits are three figures of a number, the goddess of wisdom one of smartness, and an
# address book changes its verb. Words that are on the lists as a whole (procedural justice, intellectual property) stay
# right.
# Why it matters: it is how a query or a collection in one script is brought into the other. Both sides converted
# alike agree; a query converted for a collection that was written so does not find what such words stand in, and
# readers and language models see another meaning. s2t and t2s change characters alone.
# Source: OpenCC, README (configurations with phrases), data/dictionary/TWPhrasesIT.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download opencc=1.1.6+ds1-1 libopencc1.1=1.1.6+ds1-1 libopencc-data=1.1.6+ds1-1 libmarisa0=0.2.6-13+b1
for package in *.deb; do
    dpkg -x "$package" .
done

expected='OpenCC 1.1.5
s2twp, 法律程序: 法律程式
s2twp, 程序正义: 程序正義
s2twp, 历史进程: 歷史程序
s2twp, 和平进程: 和平程序
s2twp, 结婚对象: 結婚物件
s2twp, 血型类型: 血型型別
s2twp, 红头文件: 紅標頭檔案
tw2sp, 呼叫警察: 调用警察
tw2sp, 檔案法: 文件法
tw2sp, 三位數位於: 三位数字于
tw2sp, 智慧女神: 智能女神
tw2sp, 智慧財產權: 知识产权
tw2sp, 通訊錄: 通信录
s2t, 法律程序: 法律程序
t2s, 呼叫警察: 呼叫警察'

export LD_LIBRARY_PATH="$folder/usr/lib/x86_64-linux-gnu"
show()
{
    echo "$1, $2: $(echo "$2" | usr/bin/opencc -c "usr/share/opencc/$1.json")"
}
observed=$(usr/bin/opencc --version | sed -n 's/^Version: /OpenCC /p'
for text in 法律程序 程序正义 历史进程 和平进程 结婚对象 血型类型 红头文件; do
    show s2twp "$text"
done
for text in 呼叫警察 檔案法 三位數位於 智慧女神 智慧財產權 通訊錄; do
    show tw2sp "$text"
done
show s2t 法律程序
show t2s 呼叫警察)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi

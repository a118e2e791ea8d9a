// Files that appear whole or not at all.
#include "core/atomic_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::HasSubstr;

TEST(AtomicFile, holds_all_pieces_in_order_after_commit) {
  const TempFolder folder;
  AtomicFile file(folder.file("a"));
  std::string expected;
  for (const std::size_t size : {1, 0, 65535, 65536, 65537, 10, 200000}) {
    const std::string piece(size, static_cast<char>('a' + expected.size() % 26));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_EQ(read_text(folder.file("a")), expected);
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(AtomicFile, shows_nothing_before_commit) {
  const TempFolder folder;
  AtomicFile file(folder.file("a"));
  file.write(std::string(100000, 'x'));
  EXPECT_FALSE(std::filesystem::exists(folder.file("a")));
  file.commit();
  EXPECT_TRUE(std::filesystem::exists(folder.file("a")));
}

TEST(AtomicFile, leaves_the_old_content_and_no_other_file_without_commit) {
  const TempFolder folder;
  write_text(folder.file("a"), "old");
  {
    AtomicFile file(folder.file("a"));
    file.write(std::string(100000, 'x'));
  }
  EXPECT_EQ(read_text(folder.file("a")), "old");
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(AtomicFile, keeps_the_old_content_when_the_process_is_killed_while_writing) {
  const TempFolder folder;
  write_text(folder.file("a"), "old");
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(folder.file("a"));
    file.write(std::string(1000000, 'x'));
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_text(folder.file("a")), "old");

  EXPECT_EQ(folder.file_count(), 2);

  AtomicFile file(folder.file("another"));
  EXPECT_EQ(folder.file_count(), 2) << "the next one to write there removes what the dead one left";
  file.write("new");
  file.commit();
  EXPECT_EQ(read_text(folder.file("another")), "new");
  EXPECT_EQ(folder.file_count(), 2);
}

TEST(AtomicFile, leaves_what_another_machine_may_be_writing_for_a_day) {
  const TempFolder folder;
  const std::string theirs = folder.file(".topwolf-00c0ffee-1-0.tmp");
  write_text(theirs, "half");
  AtomicFile(folder.file("a")).commit();
  EXPECT_TRUE(std::filesystem::exists(theirs));
  using Clock = std::filesystem::file_time_type::clock;
  std::filesystem::last_write_time(theirs, Clock::now() - std::chrono::hours(25));
  AtomicFile(folder.file("a")).commit();
  EXPECT_FALSE(std::filesystem::exists(theirs));
}

TEST(AtomicFile, keeps_what_is_only_called_like_one_of_its_own) {
  const TempFolder folder;
  const auto names = {".topwolf-backup.tmp",       ".topwolf-.tmp",
                      ".topwolf-00c0ffee-1.tmp",   ".topwolf-00c0ffee-1-x.tmp",
                      ".topwolf-00c0ffee--1.tmp",  ".topwolf-c0ffee-1-0.tmp",
                      ".topwolf-00C0FFEE-1-0.tmp", ".topwolf-00c0ffee-1-0-2.tmp"};
  for (const char* name : names) {
    write_text(folder.file(name), "mine");
    std::filesystem::last_write_time(folder.file(name),
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
  }
  AtomicFile(folder.file("a")).commit();
  for (const char* name : names) EXPECT_EQ(read_text(folder.file(name)), "mine");
}

TEST(AtomicFile, keeps_what_has_become_read_only_meanwhile) {
  const TempFolder folder;
  AtomicFile file(folder.file("a"));
  file.write("new");
  write_text(folder.file("a"), "old");
  ::chmod(folder.file("a").c_str(), 0444);
  EXPECT_THAT(error_of(ErrorKind::io, [&] { file.commit(); }), HasSubstr("it has become read-only"));
  EXPECT_EQ(read_text(folder.file("a")), "old");
  AtomicFile(folder.file("a")).commit();  // whoever begins with a read-only file wants it replaced
  EXPECT_EQ(read_text(folder.file("a")), "");
}

TEST(AtomicFile, waits_for_nobody_beyond_its_deadline) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const int reader = ::open(folder.file("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  AtomicFile file(folder.file("pipe"));
  const auto begin = std::chrono::steady_clock::now();
  file.set_deadline(begin + std::chrono::milliseconds(50));
  const std::string sentence = error_of(ErrorKind::io, [&] {
    for (int k = 0; k < 100; ++k) file.write(std::string(65536, 'x'));
  });
  EXPECT_THAT(sentence, HasSubstr("nobody was reading it when the time was up"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  ::close(reader);
}

TEST(AtomicFile, is_removed_by_name_where_a_signal_ends_the_process) {
  const TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile first(folder.file("a")), second(folder.file("b"));
    first.write(std::string(100000, 'x'));
    remove_temporaries();
    ::_exit(folder.file_count() == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(AtomicFile, lets_two_writers_of_one_file_not_disturb_each_other) {
  const TempFolder folder;
  AtomicFile first(folder.file("a"));
  AtomicFile second(folder.file("a"));
  first.write("first");
  second.write("second");
  second.commit();
  EXPECT_EQ(read_text(folder.file("a")), "second");
  first.commit();
  EXPECT_EQ(read_text(folder.file("a")), "first");
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(AtomicFile, keeps_permissions_and_symbolic_links) {
  const TempFolder folder;
  write_text(folder.file("a"), "old");
  ASSERT_EQ(::chmod(folder.file("a").c_str(), 0640), 0);
  std::filesystem::create_symlink("a", folder.file("link"));
  AtomicFile file(folder.file("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(read_text(folder.file("a")), "new");
  struct stat status {};
  ASSERT_EQ(::stat(folder.file("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0640u);
}

TEST(AtomicFile, makes_what_a_dangling_link_leads_to) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("there"));
  std::filesystem::create_symlink("there/a", folder.file("second"));
  std::filesystem::create_symlink(folder.file("second"), folder.file("first"));
  AtomicFile file(folder.file("first"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("first")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("second")));
  EXPECT_EQ(read_text(folder.file("there/a")), "new");
  std::filesystem::create_symlink("circle", folder.file("circle"));
  EXPECT_THAT(error_of(ErrorKind::io, [&] { AtomicFile circle(folder.file("circle")); }), HasSubstr("Too many levels"));
}

TEST(AtomicFile, takes_a_name_as_long_as_the_file_system_does) {
  const TempFolder folder;
  const std::string path = folder.file(std::string(255, 'n'));
  AtomicFile file(path);
  file.write("x");
  file.commit();
  EXPECT_EQ(read_text(path), "x");
}

TEST(AtomicFile, writes_straight_into_a_pipe) {
  const TempFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = read_text(pipe); });
  {
    AtomicFile file(pipe);
    file.write(std::string(100000, 'p'));
    file.commit();
  }
  reader.join();
  EXPECT_EQ(received, std::string(100000, 'p'));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(AtomicFile, writes_straight_into_a_device) {
  AtomicFile null("/dev/null");
  null.write("x");
  null.commit();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

// /dev/fd/N itself, and a link to it.
TEST(AtomicFile, writes_straight_into_a_named_descriptor) {
  const TempFolder folder;
  write_text(folder.file("a"), "before");
  std::FILE* open_file = std::fopen(folder.file("a").c_str(), "a");
  ASSERT_NE(open_file, nullptr);
  const std::string descriptor = "/dev/fd/" + std::to_string(::fileno(open_file));
  std::filesystem::create_symlink(descriptor, folder.file("link"));
  for (const std::string& name : {descriptor, folder.file("link")}) {
    AtomicFile named(name);
    named.write(",after");
    named.commit();
  }
  std::fclose(open_file);
  EXPECT_EQ(read_text(folder.file("a")), "before,after,after");
}

TEST(AtomicFile, replaces_a_file_that_is_named_through_proc_but_is_no_descriptor) {
  const TempFolder folder;
  write_text(folder.file("a"), "before");
  AtomicFile file("/proc/self/cwd/" + std::filesystem::relative(folder.file("a")).string());
  file.write("after");
  file.commit();
  EXPECT_EQ(read_text(folder.file("a")), "after");
}

TEST(AtomicFile, names_the_path_and_the_reason_when_it_cannot_write) {
  const TempFolder folder;
  const std::string missing = folder.file("no/such/a");
  EXPECT_EQ(error_of(ErrorKind::io, [&] { AtomicFile file(missing); }),
            missing + ": cannot be written: No such file or directory");
  EXPECT_THAT(error_of(ErrorKind::io, [&] { AtomicFile file(folder.file("")); }), HasSubstr("Is a directory"));
  write_text(folder.file("a"), "");
  EXPECT_THAT(error_of(ErrorKind::io, [&] { AtomicFile file(folder.file("a/b")); }), HasSubstr("Not a directory"));
  EXPECT_THAT(error_of(ErrorKind::io, [&] { AtomicFile file(""); }), HasSubstr("cannot be written"));
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(AtomicFile, reports_a_full_disk) {
  AtomicFile file("/dev/full");
  file.write("x");
  EXPECT_EQ(error_of(ErrorKind::io, [&] { file.commit(); }), "/dev/full: cannot be written: No space left on device");
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
